import { describe, expect, it } from 'vitest';
import { parseJson64, stringifyJson64 } from '../../../src/core/json64.ts';
import { readAvroFile } from '../../../src/iceberg/avro-file.ts';
import { ManifestWriter } from '../../../src/iceberg/manifest.ts';
import {
  ancestorsOf,
  newTableMetadata,
  snapshotOfRef,
  type TableMetadata,
} from '../../../src/iceberg/metadata.ts';
import { parseTableMetadata, serializeTableMetadata } from '../../../src/iceberg/metadata-json.ts';
import { schemaToJson } from '../../../src/iceberg/schema-json.ts';
import { newSnapshotId } from '../../../src/iceberg/snapshot-id.ts';
import { requirementToJson, updateToJson } from '../../../src/iceberg/update-json.ts';
import { applyUpdates, checkRequirements } from '../../../src/iceberg/updates.ts';
import { ORDERS_SCHEMA, ordersRequest, uuids } from '../../support/iceberg-fixture.ts';

const BIG = '6917529027641081857';

/** Metadata as Java writes it, with fields that only a newer writer knows. */
const V2 = `{
  "format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "s3://bucket/wh/t/",
  "last-sequence-number": 34, "last-updated-ms": 1602638573590, "last-column-id": 3, "current-schema-id": 1,
  "schemas": [
    {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "x", "required": true, "type": "long"}]},
    {"type": "struct", "schema-id": 1, "identifier-field-ids": [1], "from-the-future": {"a": [1]}, "fields": [
      {"id": 1, "name": "x", "required": true, "type": "long", "doc": "comment", "also-new": true},
      {"id": 2, "name": "v", "required": false, "type": "variant"},
      {"id": 3, "name": "d", "required": false, "type": "decimal(9,2)", "initial-default": "1.00", "write-default": "2.00"}]}],
  "default-spec-id": 0, "last-partition-id": 1000,
  "partition-specs": [{"spec-id": 0, "fields": [{"name": "x", "transform": "identity", "source-id": 1, "field-id": 1000, "new-field-attribute": 1}]}],
  "default-sort-order-id": 3,
  "sort-orders": [{"order-id": 3, "fields": [{"transform": "bucket[4]", "source-id": 1, "direction": "desc", "null-order": "nulls-last"}]}],
  "properties": {"owner": "me", "__proto__": "kept"},
  "current-snapshot-id": ${BIG},
  "snapshots": [
    {"snapshot-id": 3051729675574597004, "timestamp-ms": 1515100955770, "sequence-number": 0, "summary": {"operation": "append"}, "manifest-list": "s3://a/b/1.avro"},
    {"snapshot-id": ${BIG}, "parent-snapshot-id": 3051729675574597004, "timestamp-ms": 1555100955770, "sequence-number": 1,
     "summary": {"operation": "append", "x": "y"}, "manifest-list": "s3://a/b/2.avro", "schema-id": 1, "key-id": "k", "novel": 9223372036854775807}],
  "snapshot-log": [{"snapshot-id": 3051729675574597004, "timestamp-ms": 1515100955770}, {"snapshot-id": ${BIG}, "timestamp-ms": 1555100955770}],
  "metadata-log": [{"metadata-file": "s3://bucket/v1.json", "timestamp-ms": 1515100}],
  "refs": {"main": {"snapshot-id": ${BIG}, "type": "branch"}, "tag": {"snapshot-id": 3051729675574597004, "type": "tag", "max-ref-age-ms": 9223372036854775807}},
  "statistics": [{"snapshot-id": 3051729675574597004, "statistics-path": "s3://a/b/stats.puffin", "file-size-in-bytes": 413, "file-footer-size-in-bytes": 42, "blob-metadata": []}],
  "something-new": {"deep": [9007199254740993]}
}`;

const parse = (text: string): TableMetadata => parseTableMetadata(text, 'x.metadata.json');
const changed = (from: string, to: string): TableMetadata => parse(V2.replace(from, to));

describe('defaults of columns', () => {
  const DEFAULTS = ['1.0', '1.0E20', '-0.0', '0.1', '1e400'];
  const withDefaults = changed(
    '"initial-default": "1.00", "write-default": "2.00"}]',
    `"initial-default": "1.00", "write-default": "2.00"}, ${DEFAULTS.map(
      (text, i) =>
        `{"id": ${i + 4}, "name": "d${i}", "required": false, "type": "double", "initial-default": ${text}, "write-default": ${text}}`,
    ).join(', ')}, {"id": 20, "name": "l", "required": false, "type": "long", "initial-default": ${BIG}}]`,
  );
  const schema = withDefaults.schemas[1];

  it('are written as they came, in the metadata and in the headers of manifests', () => {
    const writer = new ManifestWriter(withDefaults, { specId: 0, fields: [] }, 0, 1n, 'x');
    const header = readAvroFile(writer.finish().bytes, 'x').metadata.get('schema');
    for (const text of [serializeTableMetadata(withDefaults), Buffer.from(header!).toString()]) {
      for (const value of DEFAULTS)
        expect(text).toContain(`"initial-default":${value},"write-default":${value}}`);
      expect(text).toContain(`"initial-default":${BIG}`);
    }
  });

  it('are numbers for the reader, and doubles stay doubles in a schema that was changed', () => {
    expect(schema.fields.slice(3).map((f) => f.initialDefault)).toEqual([
      1,
      1e20,
      -0,
      0.1,
      Number.POSITIVE_INFINITY,
      BigInt(BIG),
    ]);
    const text = stringifyJson64(schemaToJson({ ...schema, schemaId: 2 }));
    for (const value of ['1.0', '100000000000000000000.0', '-0.0', '0.1'])
      expect(text).toContain(`"initial-default":${value},`);
  });

  it('do not keep a schema from being added again', () => {
    const again = { ...schema };
    expect(applyUpdates(withDefaults, [{ action: 'add-schema', schema }], 1).schemas).toHaveLength(2);
    expect(() => applyUpdates(withDefaults, [{ action: 'add-schema', schema: again }], 1)).toThrow(
      'another schema has id 1',
    );
  });
});

describe('reading and writing', () => {
  it('every id is exact, and what is not known is written back as it came', () => {
    const metadata = parse(V2);
    expect(metadata.currentSnapshotId).toBe(6917529027641081857n);
    expect(metadata.location).toBe('s3://bucket/wh/t');
    expect(metadata.schemas[1].fields[2].type).toBe('decimal(9, 2)');
    const original = parseJson64(V2) as Record<string, unknown>;
    const written = parseJson64(serializeTableMetadata(metadata)) as Record<string, unknown>;
    expect(written).toEqual({ ...original, location: 's3://bucket/wh/t' });
    expect(Object.hasOwn(written['properties'] as object, '__proto__')).toBe(true);
    expect(serializeTableMetadata(metadata)).toContain(`"snapshot-id":${BIG}`);
    expect(serializeTableMetadata(metadata)).toContain('9007199254740993');
  });

  it('what is read again is the same', () => {
    const metadata = parse(V2);
    expect(parse(serializeTableMetadata(metadata))).toEqual(metadata);
  });

  it('"no snapshot" is -1, null or absent, and is written as the version has it (C22)', () => {
    const none = newTableMetadata({
      tableUuid: 'u',
      location: 'memory://t',
      schema: ORDERS_SCHEMA,
      partitionSpec: ordersRequest().partitionSpec,
      properties: {},
      formatVersion: 2,
      nowMs: 1,
    });
    const text = serializeTableMetadata(none);
    expect(text).toContain('"current-snapshot-id":-1');
    for (const value of ['-1', 'null'])
      expect(
        parse(text.replace('"current-snapshot-id":-1', `"current-snapshot-id":${value}`)).currentSnapshotId,
      ).toBeNull();
    expect(parse(text.replace('"current-snapshot-id":-1,', '')).currentSnapshotId).toBeNull();
    const v3 = serializeTableMetadata({ ...none, formatVersion: 3 });
    expect(v3).toContain('"current-snapshot-id":null');
    expect(v3).toContain('"next-row-id":0');
    expect(snapshotOfRef(parse(v3), 'main')).toBeUndefined();
    // A parent of -1 is no parent.
    expect(
      changed('"parent-snapshot-id": 3051729675574597004', '"parent-snapshot-id": -1').snapshots[1]
        .parentSnapshotId,
    ).toBeNull();
  });

  it('a number that is no long is refused, by its place (C22)', () => {
    const tooLarge: [string, string][] = [
      [`"current-snapshot-id": ${BIG}`, '"current-snapshot-id": 9223372036854775808'],
      ['"last-sequence-number": 34', '"last-sequence-number": -9223372036854775809'],
      [
        '"snapshot-id": 3051729675574597004, "timestamp-ms": 1515100955770, "sequence',
        '"snapshot-id": 1e300, "timestamp-ms": 1515100955770, "sequence',
      ],
      ['"last-sequence-number": 34', '"last-sequence-number": "34"'],
      ['"last-sequence-number": 34', '"last-sequence-number": 34.5'],
    ];
    for (const [from, to] of tooLarge) expect(() => changed(from, to)).toThrow('METADATA_INVALID');
    expect(() =>
      changed(`"current-snapshot-id": ${BIG}`, '"current-snapshot-id": 9223372036854775808'),
    ).toThrow('x.metadata.json: current-snapshot-id');
    expect(
      changed(`, "max-ref-age-ms": 9223372036854775807`, ', "max-ref-age-ms": 9223372036854775806').refs.get(
        'tag',
      )?.maxRefAgeMs,
    ).toBe(9223372036854775806n);
  });

  it('metadata that contradicts itself is refused', () => {
    const faults: [string, string][] = [
      ['"current-schema-id": 1', '"current-schema-id": 5'],
      ['"default-spec-id": 0', '"default-spec-id": 5'],
      [`"current-snapshot-id": ${BIG}`, '"current-snapshot-id": 1'],
      [
        '"refs": {"main": {"snapshot-id": 6917529027641081857',
        '"refs": {"main": {"snapshot-id": 3051729675574597004',
      ],
      ['"snapshot-id": 6917529027641081857, "parent', '"snapshot-id": 3051729675574597004, "parent'],
      ['"location": "s3://bucket/wh/t/"', '"location": 5'],
      ['"type": "tag"', '"type": "bookmark"'],
      ['"direction": "desc"', '"direction": "up"'],
      ['{"id": 2, "name": "v"', '{"id": 1, "name": "v"'],
      ['"table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", ', ''],
      ['"type": "variant"', '"type": {"type": "sequence"}'],
    ];
    for (const [from, to] of faults) {
      expect(V2).toContain(from);
      expect(() => changed(from, to), to).toThrow('METADATA_INVALID');
    }
    expect(() => changed('"format-version": 2', '"format-version": 4')).toThrow('UNSUPPORTED');
    expect(() => parse('{"format-version": 2')).toThrow('is not JSON');
    expect(() => parse('[]')).toThrow('METADATA_INVALID');
    const deep =
      '{"type":"list","element-id":1,"element-required":true,"element":'.repeat(500) +
      '"int"' +
      '}'.repeat(500);
    expect(() => changed('"type": "variant"', `"type": ${deep}`)).toThrow('nested more than 100 deep');
  });

  it('version 1: the deprecated fields, defaults, and main without refs', () => {
    const v1 = parse(`{"format-version": 1, "location": "s3://b/t", "last-updated-ms": 1, "last-column-id": 1,
      "schema": {"type": "struct", "fields": [{"id": 1, "name": "x", "required": true, "type": "long"}]},
      "partition-spec": [{"name": "x_bucket", "transform": "bucket[8]", "source-id": 1}], "current-snapshot-id": 5,
      "snapshots": [{"snapshot-id": 5, "timestamp-ms": 1, "manifests": ["s3://b/m.avro"]}]}`);
    expect(v1).toMatchObject({
      formatVersion: 1,
      tableUuid: '',
      lastSequenceNumber: 0n,
      lastPartitionId: 1000,
      currentSchemaId: 0,
      defaultSpecId: 0,
    });
    expect(v1.partitionSpecs[0].fields[0].fieldId).toBe(1000);
    expect(v1.refs.get('main')).toEqual({ snapshotId: 5n, type: 'branch' });
    expect(v1.snapshots[0]).toMatchObject({
      sequenceNumber: 0n,
      manifestList: null,
      manifests: ['s3://b/m.avro'],
    });
    const again = parse(serializeTableMetadata(v1));
    expect(again.snapshots).toEqual(v1.snapshots);
    expect(again.partitionSpecs[0].fields).toEqual(v1.partitionSpecs[0].fields);
  });

  it('a history that points at itself ends', () => {
    const loop = changed(
      '"sequence-number": 0, "summary"',
      `"parent-snapshot-id": ${BIG}, "sequence-number": 0, "summary"`,
    );
    expect(ancestorsOf(loop, 'main').map((s) => s.sequenceNumber)).toEqual([1n, 0n]);
  });
});

describe('updates', () => {
  const base = (formatVersion: 2 | 3 = 2): TableMetadata =>
    newTableMetadata({
      tableUuid: 'u',
      location: 'memory://t',
      schema: ORDERS_SCHEMA,
      partitionSpec: ordersRequest().partitionSpec,
      properties: { a: '1' },
      formatVersion,
      nowMs: 1000,
    });
  const snapshot = (
    id: bigint,
    parent: bigint | null,
    sequence: bigint,
    extra = {},
  ): TableMetadata['snapshots'][number] => ({
    snapshotId: id,
    parentSnapshotId: parent,
    sequenceNumber: sequence,
    timestampMs: 2000 + Number(sequence),
    manifestList: `memory://t/${id}.avro`,
    summary: { operation: 'append' },
    ...extra,
  });
  const withSnapshots = (count: number): TableMetadata => {
    let metadata = base();
    for (let n = 1; n <= count; n++) {
      metadata = applyUpdates(
        metadata,
        [
          {
            action: 'add-snapshot',
            snapshot: snapshot(BigInt(n), n === 1 ? null : BigInt(n - 1), BigInt(n)),
          },
          { action: 'set-snapshot-ref', refName: 'main', ref: { type: 'branch', snapshotId: BigInt(n) } },
        ],
        3000,
      );
    }
    return metadata;
  };

  it('leave what they are applied to as it was', () => {
    const before = base();
    const copy = structuredClone(before);
    applyUpdates(
      before,
      [
        { action: 'set-properties', updates: { b: '2' } },
        { action: 'set-location', location: 'x' },
      ],
      5,
    );
    expect(before).toEqual(copy);
    expect(applyUpdates(before, [], 5)).toBe(before);
  });

  it('time never runs back', () => {
    expect(applyUpdates(base(), [{ action: 'set-location', location: 'x' }], 5).lastUpdatedMs).toBe(1000);
    expect(applyUpdates(base(), [{ action: 'set-location', location: 'x' }], 5000).lastUpdatedMs).toBe(5000);
  });

  it('snapshots, refs and the log', () => {
    const metadata = withSnapshots(3);
    expect(metadata).toMatchObject({ currentSnapshotId: 3n, lastSequenceNumber: 3n });
    expect(metadata.snapshotLog.map((e) => [e.snapshotId, e.timestampMs])).toEqual([
      [1n, 2001],
      [2n, 2002],
      [3n, 2003],
    ]);
    const expired = applyUpdates(metadata, [{ action: 'remove-snapshots', snapshotIds: [1n] }], 4000);
    expect(expired.snapshots.map((s) => s.snapshotId)).toEqual([2n, 3n]);
    expect(expired.snapshotLog.map((e) => e.snapshotId)).toEqual([2n, 3n]);
    // "All entries before a snapshot that has expired should be removed."
    const middle = applyUpdates(metadata, [{ action: 'remove-snapshots', snapshotIds: [2n] }], 4000);
    expect(middle.snapshotLog.map((e) => e.snapshotId)).toEqual([3n]);
    const tagged = applyUpdates(
      metadata,
      [{ action: 'set-snapshot-ref', refName: 't', ref: { type: 'tag', snapshotId: 1n } }],
      4000,
    );
    expect(
      applyUpdates(tagged, [{ action: 'remove-snapshots', snapshotIds: [1n] }], 4000).refs.has('t'),
    ).toBe(false);
    const back = applyUpdates(
      metadata,
      [{ action: 'set-snapshot-ref', refName: 'main', ref: { type: 'branch', snapshotId: 1n } }],
      4000,
    );
    expect(back.snapshotLog.at(-1)).toEqual({ snapshotId: 1n, timestampMs: 4000 });
    expect(applyUpdates(metadata, [{ action: 'remove-snapshot-ref', refName: 'main' }], 4000)).toMatchObject({
      currentSnapshotId: null,
      snapshotLog: [],
    });
  });

  it('refuse what does not fit', () => {
    const metadata = withSnapshots(2);
    expect(() =>
      applyUpdates(metadata, [{ action: 'add-snapshot', snapshot: snapshot(2n, 2n, 3n) }], 1),
    ).toThrow('a snapshot has id 2');
    expect(() =>
      applyUpdates(metadata, [{ action: 'add-snapshot', snapshot: snapshot(9n, 2n, 2n) }], 1),
    ).toThrow('sequence number 2 is not above');
    expect(() => applyUpdates(metadata, [{ action: 'set-current-schema', schemaId: -1 }], 1)).toThrow(
      'none was added',
    );
    expect(() => applyUpdates(metadata, [{ action: 'set-default-spec', specId: 9 }], 1)).toThrow(
      'partition spec 9',
    );
    expect(() => applyUpdates(metadata, [{ action: 'upgrade-format-version', formatVersion: 1 }], 1)).toThrow(
      'cannot go back',
    );
    expect(() => applyUpdates(metadata, [{ action: 'remove-schemas', schemaIds: [0] }], 1)).toThrow(
      'current schema',
    );
    expect(() =>
      applyUpdates(base(3), [{ action: 'add-snapshot', snapshot: snapshot(1n, null, 1n) }], 1),
    ).toThrow('first-row-id');
  });

  it('v3: row ids are given out once', () => {
    const add = (first: bigint, rows: bigint, id: bigint) =>
      ({
        action: 'add-snapshot',
        snapshot: snapshot(id, null, id, { firstRowId: first, addedRows: rows }),
      }) as const;
    const metadata = applyUpdates(base(3), [add(0n, 10n, 1n)], 1);
    expect(metadata.nextRowId).toBe(10n);
    expect(() => applyUpdates(metadata, [add(9n, 1n, 2n)], 1)).toThrow("below the table's next-row-id 10");
  });

  it('schemas, specs and sort orders, -1 for the one added last', () => {
    const schema = {
      ...ORDERS_SCHEMA,
      schemaId: 1,
      fields: [...ORDERS_SCHEMA.fields, { id: 9, name: 'new', required: false, type: 'int' as const }],
    };
    const metadata = applyUpdates(
      base(),
      [
        { action: 'add-schema', schema },
        { action: 'set-current-schema', schemaId: -1 },
        {
          action: 'add-spec',
          spec: { specId: 1, fields: [{ sourceId: 9, fieldId: 1002, name: 'new', transform: 'identity' }] },
        },
        { action: 'set-default-spec', specId: -1 },
        { action: 'add-sort-order', sortOrder: { orderId: 1, fields: [] } },
        { action: 'set-default-sort-order', sortOrderId: -1 },
        { action: 'remove-properties', removals: ['a'] },
        { action: 'remove-partition-specs', specIds: [0] },
        { action: 'remove-schemas', schemaIds: [0] },
      ],
      2000,
    );
    expect(metadata).toMatchObject({
      currentSchemaId: 1,
      lastColumnId: 9,
      defaultSpecId: 1,
      lastPartitionId: 1002,
      defaultSortOrderId: 1,
      properties: {},
    });
    expect(metadata.schemas).toHaveLength(1);
    expect(metadata.partitionSpecs).toHaveLength(1);
  });

  it('the body of a commit carries the exact digits (C22)', () => {
    const id = 6917529027641081857n;
    expect(
      stringifyJson64(requirementToJson({ type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: id })),
    ).toBe(`{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":${BIG}}`);
    expect(
      stringifyJson64(requirementToJson({ type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: null })),
    ).toBe('{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}');
    expect(
      stringifyJson64(
        updateToJson(
          { action: 'set-snapshot-ref', refName: 'main', ref: { type: 'branch', snapshotId: id } },
          2,
        ),
      ),
    ).toBe(`{"action":"set-snapshot-ref","ref-name":"main","snapshot-id":${BIG},"type":"branch"}`);
    expect(stringifyJson64(updateToJson({ action: 'remove-snapshots', snapshotIds: [id] }, 2))).toBe(
      `{"action":"remove-snapshots","snapshot-ids":[${BIG}]}`,
    );
    const added = stringifyJson64(
      updateToJson({ action: 'add-snapshot', snapshot: snapshot(id, 1n, 7n) }, 2),
    );
    expect(added).toContain(`"snapshot-id":${BIG}`);
    expect(added).toContain('"sequence-number":7');
  });

  it('requirements: the uuid in any case, a ref that must be absent', () => {
    const metadata = withSnapshots(1);
    const check = (...requirements: Parameters<typeof checkRequirements>[1]): void =>
      checkRequirements(metadata, requirements, 'db.t');
    check(
      { type: 'assert-table-uuid', uuid: 'U' },
      { type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: 1n },
      { type: 'assert-ref-snapshot-id', ref: 'other', snapshotId: null },
    );
    expect(() => check({ type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: null })).toThrow(
      'COMMIT_CONFLICT: table db.t: ref main: expected none, found snapshot 1',
    );
    expect(() => checkRequirements(undefined, [{ type: 'assert-table-uuid', uuid: 'u' }], 'db.t')).toThrow(
      'does not exist',
    );
    checkRequirements(undefined, [{ type: 'assert-create' }], 'db.t');
  });
});

describe('snapshot ids', () => {
  it('are in 1..2^63-1', () => {
    const uuid = uuids('ids');
    for (let n = 0; n < 1000; n++) {
      const id = newSnapshotId(uuid());
      expect(id > 0n && id < 2n ** 63n).toBe(true);
    }
    expect(newSnapshotId('00000000-0000-0000-0000-000000000000')).toBe(1n);
    expect(newSnapshotId('ffffffff-ffff-ffff-0000-000000000000')).toBe(2n ** 63n - 1n);
  });
});
