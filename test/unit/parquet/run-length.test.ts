import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RunLengthDecoder } from '../../../src/parquet/run-length-decoder.ts';
import { bitWidthOf, RunLengthEncoder } from '../../../src/parquet/run-length-encoder.ts';

function encode(bitWidth: number, runs: ReadonlyArray<readonly [number, number]>): Uint8Array {
  const encoder = new RunLengthEncoder(bitWidth);
  for (const [value, count] of runs) encoder.append(value, count);
  return encoder.finish();
}

function decode(bytes: Uint8Array, bitWidth: number, count: number): number[] {
  const decoder = new RunLengthDecoder(bytes, 0, bytes.length, bitWidth);
  const values: number[] = [];
  while (values.length < count) {
    const length = decoder.takeRun(count - values.length);
    for (let i = 0; i < length; i++) values.push(decoder.value);
  }
  return values;
}

describe('RLE and bit-packing hybrid', () => {
  it('packs the example of Encodings.md', () => {
    const bytes = encode(
      3,
      [0, 1, 2, 3, 4, 5, 6, 7].map((v) => [v, 1] as const),
    );
    expect([...bytes]).toEqual([0b11, 0b10001000, 0b11000110, 0b11111010]);
  });

  it('stores a run once, whatever its length', () => {
    expect([...encode(1, [[1, 1_000_000]])]).toEqual([0x80, 0x89, 0x7a, 1]);
    expect(
      encode(1, [
        [1, 500_000],
        [1, 500_000],
      ]),
    ).toEqual(encode(1, [[1, 1_000_000]]));
    expect([...encode(12, [[0xabc, 8]])]).toEqual([16, 0xbc, 0x0a]);
  });

  it('says how many bits hold a value', () => {
    expect([0, 1, 2, 3, 4, 255, 256].map(bitWidthOf)).toEqual([0, 1, 2, 2, 3, 8, 9]);
  });

  it('is read back as it was written', () => {
    const runs = fc
      .integer({ min: 1, max: 20 })
      .chain((bitWidth) =>
        fc.tuple(
          fc.constant(bitWidth),
          fc.array(
            fc.tuple(
              fc.nat(2 ** bitWidth - 1),
              fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 700 })),
            ),
            { maxLength: 80 },
          ),
        ),
      );
    fc.assert(
      fc.property(runs, ([bitWidth, list]) => {
        const expected = list.flatMap(([value, count]) => new Array<number>(count).fill(value));
        expect(decode(encode(bitWidth, list), bitWidth, expected.length)).toEqual(expected);
      }),
    );
  });

  it('is the same whether values come one by one or in stretches', () => {
    const stretches = fc.integer({ min: 1, max: 8 }).chain((bitWidth) =>
      fc.tuple(
        fc.constant(bitWidth),
        fc.array(
          fc.oneof(
            fc
              .tuple(fc.nat(2 ** bitWidth - 1), fc.integer({ min: 1, max: 30 }))
              .map(([v, n]) => Array(n).fill(v)),
            fc.array(fc.nat(2 ** bitWidth - 1), { maxLength: 30 }),
          ),
          { maxLength: 20 },
        ),
        fc.func(fc.boolean()),
      ),
    );
    fc.assert(
      fc.property(stretches, ([bitWidth, list, asRun]) => {
        const encoder = new RunLengthEncoder(bitWidth);
        list.forEach((values: number[], i) => {
          const bytes = Uint8Array.of(99, ...values, 99);
          if (!asRun(i)) encoder.appendAll(bytes, 1, 1 + values.length);
          else for (const value of values) encoder.append(value, 1);
        });
        const expected = list.flat();
        expect(decode(encoder.finish(), bitWidth, expected.length)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
    const run = new RunLengthEncoder(1);
    for (let i = 0; i < 10; i++) run.appendAll(new Uint8Array(100_000).fill(1), 0, 100_000);
    expect(run.finish()).toEqual(encode(1, [[1, 1_000_000]]));
  });

  it('can be used again after clear', () => {
    const encoder = new RunLengthEncoder(2);
    encoder.append(3, 5);
    encoder.append(1, 100);
    encoder.finish();
    encoder.clear();
    encoder.append(2, 9);
    expect([...encoder.finish()]).toEqual([18, 2]);
  });

  it.each([
    ['a run of no values', [0, 1]],
    ['nothing', []],
    ['an end within a run', [16]],
    ['a packed run behind the end', [0xff, 0x01, 1]],
    ['a header without end', [0xff, 0xff, 0xff, 0xff, 0xff, 1]],
  ])('refuses %s', (_name, bytes) => {
    expect(() => decode(Uint8Array.from(bytes), 8, 300)).toThrow(RangeError);
  });
});
