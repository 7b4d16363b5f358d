import { expect, test } from 'vitest';
import { AnsiReader, plainText } from './ansi';

const read = (line: string) => new AnsiReader().read(line);

test('colours become classes and end where they are reset', () => {
  expect(read('a \u001b[1;31mred\u001b[0m b')).toEqual([
    { text: 'a ', style: '' },
    { text: 'red', style: 'ansi-red ansi-bold' },
    { text: ' b', style: '' },
  ]);
});

test('a colour that is not reset goes on in the next line', () => {
  const reader = new AnsiReader();
  reader.read('\u001b[32mon');
  expect(reader.read('still')).toEqual([{ text: 'still', style: 'ansi-green' }]);
});

test('what a terminal would obey is dropped, markup stays text', () => {
  expect(plainText(read('\u001b]0;title\u0007\u001b[2J\u001b[10;5Hx<b>y</b>\u0007'))).toBe('x<b>y</b>');
  expect(plainText(read('\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\'))).toBe('link');
});

test('a carriage return overwrites the line', () => {
  expect(plainText(read('10 %\r50 %\r100 %'))).toBe('100 %');
  expect(plainText(read('windows\r'))).toBe('windows');
});

test('colours of other palettes do not turn into stray styles', () => {
  expect(read('\u001b[38;5;1mx\u001b[38;2;1;4;3my')).toEqual([
    { text: 'x', style: '' },
    { text: 'y', style: '' },
  ]);
});
