import { expect, it } from 'vitest';
import { fieldRow, typeText } from '../../../src/cli/schema-text.ts';
import { textTable } from '../../../src/cli/text-table.ts';

it('puts columns in line, numbers to the right', () => {
  expect(
    textTable(
      ['topic', 'lag'],
      [
        ['a', '5'],
        ['long-name', '1,200'],
      ],
    ),
  ).toBe('topic        lag\na              5\nlong-name  1,200\n');
  expect(
    textTable(
      ['topic', 'lag'],
      [
        ['a', '5'],
        ['b', 'unknown'],
      ],
    ),
  ).toBe('topic  lag\na      5\nb      unknown\n');
  expect(textTable(['a', 'b'], [])).toBe('a  b\n');
});

it('prints types as people write them', () => {
  expect(
    typeText({
      type: 'map',
      keyId: 1,
      key: 'string',
      valueId: 2,
      value: { type: 'list', elementId: 3, element: 'decimal(9, 2)', elementRequired: true },
      valueRequired: false,
    }),
  ).toBe('map<string, list<decimal(9, 2)>>');
  expect(
    fieldRow({
      id: 4,
      name: 'h',
      required: true,
      type: { type: 'struct', fields: [{ id: 5, name: 'k', required: false, type: 'int' }] },
    }),
  ).toEqual(['4', 'h', 'struct<k: int>', 'required', '']);
});
