/**
 * The Protobuf decoder against a plain reader written from the encoding guide, and against protobufjs as a writer: random
 * schemas and messages, fields in any order and in parts, damaged bytes. Where the decoder gives a row, the row must be the
 * plain reader's; where it gives none, the plain reader must refuse the bytes too.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it, vi } from 'vitest';
import { Random } from '../../../src/core/random.ts';
import type { NestedField } from '../../../src/core/schema.ts';
import { protobufToIceberg } from '../../../src/decode/protobuf/protobuf-to-iceberg.ts';
import type { Plain } from '../../support/avro.ts';
import { decodeProto, proto, protoValue } from '../../support/protobuf.ts';
import {
  ModelFault,
  ModelRange,
  type ModelSchema,
  modelRow,
  ProtoDraw,
  protoText,
} from '../../support/protobuf-model.ts';
import { THOROUGH } from '../../support/thorough.ts';

const RUNS = THOROUGH ? 5_000 : 250;
const MESSAGES = 6;

vi.setConfig({ testTimeout: THOROUGH ? 1_800_000 : 120_000 });

function checkSeeds(check: (draw: ProtoDraw) => void): void {
  fc.assert(
    fc.property(fc.nat(), (seed) => check(new ProtoDraw(new Random(seed)))),
    { numRuns: RUNS },
  );
}

/** The plain reader's row, or the kind of its refusal. */
function expected(
  schema: ModelSchema,
  bytes: Uint8Array,
  columns?: ReadonlySet<string>,
): Record<string, Plain> | 'fault' | 'range' {
  try {
    return modelRow(schema.root, schema.syntax, bytes, columns);
  } catch (e) {
    if (e instanceof ModelFault) return 'fault';
    if (e instanceof ModelRange) return 'range';
    throw e;
  }
}

/** Decodes all messages in one block and compares each. */
function compare(
  schema: ModelSchema,
  fields: readonly NestedField[],
  messages: readonly Uint8Array[],
  columns?: ReadonlySet<string>,
): void {
  const values = messages.map((bytes) => protoValue(1, bytes));
  const { rows, decoder } = decodeProto(fields, [proto(1, protoText(schema))], values);
  expect(rows).toHaveLength(messages.length);
  for (const [i, bytes] of messages.entries()) {
    const want = expected(schema, bytes, columns);
    const fault = decoder.faults.find(({ row }) => row === i);
    const context = () =>
      `${protoText(schema)}\n${Buffer.from(bytes).toString('hex')}\n${fault?.reason} ${fault?.field} ${fault?.message}`;
    if (typeof want === 'string') {
      if (fault === undefined) throw new Error(`a row where the plain reader has a ${want}: ${context()}`);
    } else if (fault !== undefined) throw new Error(`a fault where the plain reader has a row: ${context()}`);
    else if (!isDeepStrictEqual(plain(rows[i]), plain(want)))
      throw new Error(`another row: ${context()}\n${shown(rows[i])}\n${shown(want)}`);
  }
}

/** Objects with the usual prototype. */
const plain = (value: unknown): unknown => structuredClone(value);
const shown = (value: unknown): string =>
  JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `${v}n` : v));

describe('Protobuf messages', () => {
  it('are read as the plain reader reads them, fields in any order and in parts', () => {
    checkSeeds((draw) => {
      const schema = draw.schema();
      const { fields } = protobufToIceberg(proto(1, protoText(schema)), null);
      compare(
        schema,
        fields,
        Array.from({ length: MESSAGES }, () => Uint8Array.from(draw.bytes(schema.root))),
      );
    });
  });

  it('fill some of the columns, in another order', () => {
    checkSeeds((draw) => {
      const schema = draw.schema();
      const all = protobufToIceberg(proto(1, protoText(schema)), null).fields;
      const inOneof = new Set(schema.root.fields.filter((f) => f.oneof !== null).map((f) => f.name));
      const some = all.filter((f) => inOneof.has(f.name) || draw.random.chance(0.5));
      if (some.length === 0) return;
      const columns = new Set(some.map((f) => f.name));
      const shuffled = [...some].sort(() => draw.random.unit() - 0.5);
      compare(
        schema,
        shuffled,
        Array.from({ length: MESSAGES }, () => Uint8Array.from(draw.bytes(schema.root))),
        columns,
      );
    });
  });

  it('that are damaged give the plain reader’s row or a fault, and leave their neighbours whole', () => {
    checkSeeds((draw) => {
      const { random } = draw;
      const schema = draw.schema();
      const { fields } = protobufToIceberg(proto(1, protoText(schema)), null);
      const messages = Array.from({ length: MESSAGES }, () => {
        const bytes = draw.bytes(schema.root);
        for (let left = random.below(4); left > 0 && bytes.length > 0; left--) damage(bytes, random);
        return Uint8Array.from(bytes);
      });
      compare(schema, fields, messages);
    });
  });

  it('that protobufjs has written are read as they were meant', () => {
    let compared = 0;
    checkSeeds((draw) => {
      // protobufjs reads a message that is not there in an entry as null, and cannot write that.
      draw.wholeEntries = true;
      const schema = draw.schema();
      const { root } = protobuf.parse(protoText(schema), new protobuf.Root(), { keepCase: true });
      const type = root.lookupType(`model.${schema.root.name}`);
      const { fields } = protobufToIceberg(proto(1, protoText(schema)), null);
      // What stands in the bytes of a drawn message, written anew: once each, packed as the schema has it.
      const written = Array.from({ length: MESSAGES }, () => Uint8Array.from(draw.bytes(schema.root)))
        .map((bytes) => rewritten(type, bytes))
        .filter((bytes) => bytes !== null);
      compared += written.length;
      compare(schema, fields, written);
    });
    expect(compared).toBeGreaterThan(RUNS);
  });
});

/** Null where protobufjs refuses it: it looks for required fields in each part of a message by itself. */
function rewritten(type: protobuf.Type, bytes: Uint8Array): Uint8Array | null {
  try {
    return Uint8Array.from(type.encode(type.decode(bytes)).finish());
  } catch (e) {
    if (e instanceof Error && /^missing required/.test(e.message)) return null;
    throw e;
  }
}

function damage(bytes: number[], random: Random): void {
  const at = random.below(bytes.length);
  switch (random.below(5)) {
    case 0:
      bytes[at] = random.below(256);
      break;
    case 1:
      bytes[at] ^= 1 << random.below(8);
      break;
    case 2:
      bytes.splice(at, 1 + random.below(3));
      break;
    case 3:
      bytes.splice(
        at,
        0,
        ...Array.from({ length: 1 + random.below(3) }, () => random.pick([0, 0x7f, 0x80, 0xff, 8, 10])),
      );
      break;
    default:
      bytes.length = at;
  }
}
