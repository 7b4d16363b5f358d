import { expect, test } from 'vitest';
import { payloadTrouble } from './answers';

test('only an object is the payload of a signal', () => {
  expect(payloadTrouble('{"version": "1.2"}')).toBe('');
  expect(payloadTrouble('{}')).toBe('');
  for (const wrong of ['[1]', '"a"', 'null', '1']) expect(payloadTrouble(wrong)).toMatch(/JSON object/);
  expect(payloadTrouble('{version: 1}')).toMatch(/not valid JSON/);
});
