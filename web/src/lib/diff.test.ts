import { expect, test } from 'vitest';
import { diffLines } from './diff';

const shown = (before: string[], after: string[]) => diffLines(before.join('\n'), after.join('\n')).map((line) => `${{ same: ' ', out: '-', in: '+', gap: '@' }[line.kind]}${line.text}`);

test('a changed line is one out and one in', () => {
  expect(shown(['a', 'b', 'c'], ['a', 'x', 'c'])).toEqual([' a', '-b', '+x', ' c']);
});

test('added and removed lines keep their places', () => {
  expect(shown(['a', 'b'], ['a', 'n', 'b', 'm'])).toEqual([' a', '+n', ' b', '+m']);
  expect(shown(['a', 'b', 'c', 'd'], ['b', 'd'])).toEqual(['-a', ' b', '-c', ' d']);
});

test('equal texts have no difference', () => {
  expect(shown(['a', 'b'], ['a', 'b'])).toEqual([]);
});

test('lines far from a change are folded', () => {
  const many = Array.from({ length: 20 }, (_, at) => `l${at}`);
  expect(shown(many, [...many.slice(0, 10), 'new', ...many.slice(10)])).toEqual(['@7', ' l7', ' l8', ' l9', '+new', ' l10', ' l11', ' l12', '@7']);
});

test('very long texts are compared, too, though less finely', () => {
  const long = Array.from({ length: 5_000 }, (_, at) => `a${at}`);
  const other = long.map((line) => `${line}!`);
  const lines = shown(['same', ...long], ['same', ...other]);
  expect(lines.length).toBe(10_001);
});
