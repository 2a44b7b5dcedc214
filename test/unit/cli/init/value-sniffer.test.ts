import { describe, expect, it } from 'vitest';
import { type Sniffed, ValueSniffer } from '../../../../src/cli/init/value-sniffer.ts';
import { formatDdl } from '../../../../src/core/schema-text/format-ddl.ts';

function sniff(
  values: readonly (string | Uint8Array | null)[],
  keys: readonly (string | Uint8Array | null)[] = [],
): Sniffed {
  const bytes = (value: string | Uint8Array | null | undefined) =>
    typeof value === 'string' ? Buffer.from(value) : (value ?? null);
  const sniffer = new ValueSniffer();
  for (const [i, value] of values.entries()) sniffer.add(bytes(keys[i]), bytes(value));
  return sniffer.result();
}

const frame = (id: number, body: string): Uint8Array => {
  const bytes = Buffer.alloc(5 + body.length);
  bytes.writeUInt32BE(id, 1);
  bytes.write(body, 5);
  return bytes;
};
const times = <T>(n: number, value: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => value(i));

describe('sniffing', () => {
  it('tells JSON, with its columns', () => {
    const sniffed = sniff(
      [...times(18, (i) => `{"id":${i},"at":"2026-07-14T09:05:06Z"}`), 'x', '{"id":', null, ''],
      times(22, (i) => `k${i}`),
    );
    expect(sniffed).toMatchObject({
      kind: 'json',
      values: 20,
      matching: 18,
      tombstones: 1,
      empty: 1,
      textKeys: true,
      csv: null,
    });
    expect(formatDdl(sniffed.schema!)).toBe('id BIGINT, at TIMESTAMP');
  });

  it('does not take for JSON what is too often something else', () => {
    const sniffed = sniff([...times(8, () => '{"id":1}'), 'x', 'y']);
    expect(sniffed).toMatchObject({ kind: 'text', matching: 10, schema: null });
  });

  it.each([
    ['csv', ['1,"a,b",x', '2,,y', '3,c,z'], { csv: { delimiter: ',', fields: 3 }, matching: 3 }],
    ['csv', ['1;2,5;x', '2;3,5;y'], { csv: { delimiter: ';', fields: 3 } }],
    [
      'csv',
      times(20, (i) => `a\tb${i === 0 ? '\tc' : ''}`),
      { csv: { delimiter: '\t', fields: 2 }, matching: 19 },
    ],
    ['text', ['one, two', 'three', 'four, five, six', 'seven'], {}],
    ['text', ['null', '1', '[1]'], { matching: 3 }],
    ['binary', [Buffer.from([1, 2, 3, 0xff])], {}],
    ['binary', ['text', Buffer.from([0])], {}],
    ['registry', times(30, (i) => frame(7 + (i % 2), '\x02a')), { schemaIds: [7, 8], matching: 30 }],
    ['registry-json', times(3, () => frame(7, '{"a":1}')), { schemaIds: [7] }],
    ['binary', times(200, (i) => frame(i + 1, 'x')), { schemaIds: [] }],
    ['binary', times(3, () => Buffer.from([0, 0, 0, 0, 0, 0, 0, 9])), {}],
    [
      'avro-single-object',
      times(3, () => Buffer.from([0xc3, 1, 1, 2, 3, 4, 5, 6, 7, 8, 2])),
      { matching: 3 },
    ],
    ['none', [null, ''], { values: 0, tombstones: 1, empty: 1 }],
  ])('tells %s', (kind, values, more) => expect(sniff(values)).toMatchObject({ kind, ...more }));

  it('tells keys that are text', () => {
    expect(sniff(['x', 'y'], ['k', null]).textKeys).toBe(true);
    expect(sniff(['x', 'y'], ['k', Buffer.from([0, 0, 0, 1])]).textKeys).toBe(false);
    expect(sniff(['x'], [Buffer.from([0xff])]).textKeys).toBe(false);
    expect(sniff(['x']).textKeys).toBe(false);
  });
});
