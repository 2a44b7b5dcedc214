/**
 * The Avro decoder against avsc and against a plain reader written from the specification: random schemas, values, pairs of
 * writer and reader, and damaged bytes. Where the decoder gives a row, the row must be that of the others; where it gives
 * none, the plain reader must refuse the bytes too. What avsc lets pass and the decoder does not: varints longer than their
 * type, invalid UTF-8 (avsc puts in U+FFFD), booleans other than 0 and 1, blocks that end elsewhere than they say; so avsc
 * is asked only for bytes that the plain reader takes.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { Random } from '../../../src/core/random.ts';
import type { IcebergType, NestedField } from '../../../src/core/schema.ts';
import { createAvroDecoder } from '../../../src/decode/avro/avro-decoder.ts';
import { avroToIceberg } from '../../../src/decode/avro/avro-to-iceberg.ts';
import { canonicalForm } from '../../../src/decode/avro/canonical-form.ts';
import { parseAvroSchema } from '../../../src/decode/avro/schema-parser.ts';
import {
  avroFormat,
  avscType,
  framed,
  type Plain,
  registered,
  rowsOf,
  valuesOf,
} from '../../support/avro.ts';
import {
  AvroDraw,
  byKey,
  definedFirst,
  hasColumn,
  hasPartWithoutColumn,
  hasPromotableBranches,
  OutOfRange,
  rowOf,
} from '../../support/avro-cases.ts';
import { type AvroJson, ModelFault, ModelReader, type Names, namesIn } from '../../support/avro-model.ts';
import { THOROUGH } from '../../support/thorough.ts';

const RUNS = THOROUGH ? 5000 : 300;

vi.setConfig({ testTimeout: THOROUGH ? 900_000 : 120_000 });

/** avsc reads longs that it promotes to floats through doubles, and beyond 2^53 wrongly. */
const EXACT_BITS = 53;

type Row = Record<string, Plain>;

function checkSeeds(check: (draw: AvroDraw) => void, longBits = 64): void {
  fc.assert(
    fc.property(fc.nat(), (seed) => check(new AvroDraw(new Random(seed), longBits))),
    { numRuns: RUNS },
  );
}

/** A writer's record that has a column. */
function drawWriter(draw: AvroDraw): { writer: AvroJson; names: Names } {
  for (;;) {
    const writer = definedFirst(draw.record(3), draw.definitions);
    const names = namesIn(writer);
    if (hasColumn(writer, names)) return { writer, names };
  }
}

/** The row, or null where a value is out of its column's range. */
function expectedRow(schema: AvroJson, value: unknown, names: Names): Row | null {
  try {
    return rowOf(schema, value, names) as Row;
  } catch (e) {
    if (e instanceof OutOfRange) return null;
    throw e;
  }
}

/** With the entries of maps in the order of their keys. */
function sorted(value: Plain, type: IcebergType): Plain {
  if (value === null || typeof type === 'string') return value;
  if (type.type === 'struct')
    return Object.fromEntries(type.fields.map((f) => [f.name, sorted((value as Row)[f.name], f.type)]));
  if (type.type === 'list') return (value as Plain[]).map((item) => sorted(item, type.element));
  return (value as [Plain, Plain][]).map(([key, item]): Plain => [key, sorted(item, type.value)]).sort(byKey);
}

function decoded(
  fields: readonly NestedField[],
  writer: AvroJson,
  bodies: readonly Uint8Array[],
  reader: AvroJson | null = null,
): { rows: (Row | null)[]; reasons: (string | undefined)[]; unknown: readonly number[] } {
  const decoder = createAvroDecoder(
    fields,
    avroFormat({
      writerSchema: JSON.stringify(writer),
      readerSchema: reader === null ? null : JSON.stringify(reader),
    }),
  );
  // A decoder is used again and again: what a block has left must not be seen in the next.
  decoder.decode(valuesOf([...bodies, ...bodies].reverse()));
  decoder.decode(valuesOf(bodies));
  const faults = new Map(decoder.faults.map((fault) => [fault.row, fault.reason]));
  const rows = rowsOf(fields, decoder).map((row, i) =>
    faults.has(i) ? null : (sorted(row, { type: 'struct', fields }) as Row),
  );
  return { rows, reasons: bodies.map((_, i) => faults.get(i)), unknown: decoder.rowsWithUnknownFields };
}

function pickFields(row: Row | null, fields: readonly NestedField[]): Row | null {
  return row === null ? null : Object.fromEntries(fields.map((f) => [f.name, row[f.name]]));
}

describe('random schemas and values', () => {
  it('become the rows that avsc reads, in any columns that there are', () => {
    checkSeeds((draw) => {
      const { writer, names } = drawWriter(draw);
      const type = avscType(writer);
      const values = Array.from({ length: 5 }, () => draw.value(writer, names));
      const all = avroToIceberg(JSON.stringify(writer)).fields;
      const fields = draw.shuffled(all.filter(() => draw.chance(0.85)));
      if (fields.length === 0) return;
      const bodies = values.map((value) => type.toBuffer(value));
      const expected = bodies.map((body) =>
        pickFields(expectedRow(writer, type.fromBuffer(body), names), fields),
      );
      const { rows, unknown } = decoded(fields, writer, bodies);
      // A value out of range in a column that is left out is none.
      if (fields.length === all.length) expect(rows).toEqual(expected);
      rows.forEach((row, i) => {
        if (expected[i] !== null) expect(row).toEqual(expected[i]);
      });
      const left = all.filter((f) => !fields.includes(f)).map((f) => f.name);
      const withLeft = values.map((value) => left.some((name) => (value as Row)[name] !== null));
      unknown.forEach((row) => {
        expect(withLeft[row] || left.length < all.length).toBe(true);
      });
      withLeft.forEach((has, row) => {
        if (has && rows[row] !== null) expect(unknown).toContain(row);
      });
    });
  });

  it('have the canonical form that avsc gives them', () => {
    checkSeeds((draw) => {
      const { writer } = drawWriter(draw);
      const avscForm = avscType(writer).schema({ exportAttrs: false });
      expect(JSON.parse(canonicalForm(parseAvroSchema(JSON.stringify(writer))))).toEqual(
        JSON.parse(JSON.stringify(avscForm)),
      );
    });
  });
});

describe('random pairs of writer and reader', () => {
  it('resolve as avsc resolves them', () => {
    checkSeeds((draw) => {
      const { writer, names } = drawWriter(draw);
      if (hasPromotableBranches(writer, names)) return;
      const reader = definedFirst(draw.evolved(writer, names));
      const readerNames = namesIn(reader);
      if (!hasColumn(reader, readerNames)) return;
      const writerType = avscType(writer);
      const readerType = avscType(reader);
      const resolver = readerType.createResolver(writerType);
      const bodies = Array.from({ length: 5 }, () => writerType.toBuffer(draw.value(writer, names)));
      const { fields } = avroToIceberg(JSON.stringify(reader));
      const expected = bodies.map((body) =>
        expectedRow(reader, readerType.fromBuffer(body, resolver), readerNames),
      );
      expect(decoded(fields, writer, bodies, reader).rows).toEqual(expected);
    }, EXACT_BITS);
  });
});

describe('damaged bytes', () => {
  it('give the row of a reader by the letter of the specification, or a fault where it has one', () => {
    checkSeeds((draw) => {
      const { writer, names } = drawWriter(draw);
      const type = avscType(writer);
      const { fields } = avroToIceberg(JSON.stringify(writer));
      const bodies = Array.from({ length: 12 }, () =>
        damaged(draw, type.toBuffer(draw.value(writer, names))),
      );
      const { rows, reasons } = decoded(fields, writer, bodies);
      bodies.forEach((body, i) => {
        const value = modelValue(writer, names, body);
        if (value === BAD_TEXT && hasPartWithoutColumn(writer, names)) return;
        const expected = value === undefined || value === BAD_TEXT ? null : expectedRow(writer, value, names);
        // The bound on rows out of few bytes is the decoder's own; no body here is worth that many.
        expect([body.toString('hex'), reasons[i], rows[i]]).toEqual([
          body.toString('hex'),
          reasons[i],
          expected,
        ]);
        expect(reasons[i]).not.toBe('TOO_LARGE');
        if (value !== undefined && value !== BAD_TEXT)
          expect(isDeepStrictEqual(type.fromBuffer(body), avscShape(type, value))).toBe(true);
      });
    });
  });

  it('never disturb the rows beside them', () => {
    checkSeeds((draw) => {
      const { writer, names } = drawWriter(draw);
      const type = avscType(writer);
      const { fields } = avroToIceberg(JSON.stringify(writer));
      const good = Array.from({ length: 6 }, () => type.toBuffer(draw.value(writer, names)));
      const alone = decoded(fields, writer, good).rows;
      const mixed = decoded(
        fields,
        writer,
        good.flatMap((body) => [damaged(draw, body), body]),
      ).rows;
      expect(mixed.filter((_, i) => i % 2 === 1)).toEqual(alone);
    });
  });
});

describe('damaged schemas', () => {
  it('are refused, or read something, and never throw', () => {
    checkSeeds((draw) => {
      const { writer, names } = drawWriter(draw);
      const { fields } = avroToIceberg(JSON.stringify(writer));
      const body = avscType(writer).toBuffer(draw.value(writer, names));
      const decoder = createAvroDecoder(fields, avroFormat({ framing: 'confluent' }));
      const schemas = Array.from({ length: 8 }, (_, id) =>
        registered(id, damagedText(draw, JSON.stringify(writer))),
      );
      for (const schema of schemas) decoder.addSchema(schema);
      const values = schemas.flatMap(({ id }) => [framed(id, body), framed(id, damaged(draw, body))]);
      decoder.decode(valuesOf(values));
      expect(rowsOf(fields, decoder)).toHaveLength(values.length);
    });
  });
});

/** With a part of the text put elsewhere, or left out. */
function damagedText(draw: AvroDraw, text: string): string {
  const parts = text.split(/(?=[{}[\],])/);
  const at = draw.below(parts.length);
  switch (draw.below(4)) {
    case 0:
      return parts.toSpliced(at, 1).join('');
    case 1:
      return parts.toSpliced(at, 1, draw.pick(parts)).join('');
    case 2:
      return text.replace(
        /"(int|long|string|bytes|float|double|boolean|null)"/,
        `"${draw.pick(['int', 'string', 'R0', 'double', 'null'])}"`,
      );
    default:
      return text.slice(0, draw.below(text.length)) + text.slice(draw.below(text.length));
  }
}

/** In place of a value: a text is not UTF-8, which is told only where a column takes the text. */
const BAD_TEXT = Symbol('text');

/** The value that the plain reader finds, or undefined where it refuses the bytes. */
function modelValue(writer: AvroJson, names: Names, body: Uint8Array): unknown {
  try {
    return new ModelReader(names, body).datum(writer);
  } catch (e) {
    if (e instanceof ModelFault) return e.message === 'UTF-8' ? BAD_TEXT : undefined;
    throw e;
  }
}

/** The value with avsc's own objects for records and branches. */
function avscShape(type: ReturnType<typeof avscType>, value: unknown): unknown {
  return type.fromBuffer(type.toBuffer(value));
}

function damaged(draw: AvroDraw, body: Buffer): Buffer {
  const bytes = Buffer.from(body);
  switch (draw.below(7)) {
    case 6:
      return Buffer.from(Array.from({ length: draw.below(40) }, () => draw.below(256)));
    case 0:
      return bytes.subarray(0, draw.below(bytes.length + 1));
    case 1:
      return Buffer.concat([bytes, Buffer.from([draw.below(256)])]);
    case 2: {
      const at = draw.below(bytes.length + 1);
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([draw.below(256)]), bytes.subarray(at)]);
    }
    case 3: {
      const at = draw.below(bytes.length + 1);
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    }
    default:
      for (let n = 1 + draw.below(3); n > 0 && bytes.length > 0; n--) {
        const at = draw.below(bytes.length);
        bytes[at] = draw.chance(0.5)
          ? bytes[at] ^ (1 << draw.below(8))
          : draw.pick([0, 1, 2, 3, 0x7f, 0x80, 0xff]);
      }
      return bytes;
  }
}
