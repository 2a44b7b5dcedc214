import { describe, expect, it } from 'vitest';
import { parsePartitionField } from '../../../src/config/partition-field.ts';
import { bronzeSchema } from '../../../src/engine/bronze-layout.ts';
import { buildPartitionSpec } from '../../../src/iceberg/partition.ts';

const SCHEMA = bronzeSchema({ valueType: 'string', keyType: 'binary', includeHeaders: false });

describe('parsePartitionField', () => {
  it.each([
    ['dt', 'dt', 'identity'],
    [' hour ', 'hour', 'identity'],
    ['identity(topic)', 'topic', 'identity'],
    ['hours(kafka_timestamp)', 'hours(kafka_timestamp)', 'hour'],
    ['day( ingested_at )', 'days(ingested_at)', 'day'],
    ['months(kafka_timestamp)', 'months(kafka_timestamp)', 'month'],
    ['years(kafka_timestamp)', 'years(kafka_timestamp)', 'year'],
    ['bucket(16,key)', 'bucket(16, key)', 'bucket[16]'],
    ['truncate(4, topic)', 'truncate(4, topic)', 'truncate[4]'],
    ['truncate(1000, kafka_offset)', 'truncate(1000, kafka_offset)', 'truncate[1000]'],
  ])('%s is a field that a table can have', (text, canonical, transform) => {
    const field = parsePartitionField(text);
    expect(field).toMatchObject({ canonical });
    expect(buildPartitionSpec([canonical], SCHEMA).fields).toMatchObject([{ transform }]);
  });

  it.each([
    '',
    'nobody',
    'days(dt)',
    'hours(kafka_offset)',
    'bucket(key)',
    'bucket(0, key)',
    'truncate(2, kafka_timestamp)',
    'identity(2, dt)',
    'void(dt)',
    'days(kafka_timestamp',
    'dt, hour',
    '__proto__',
    'constructor',
  ])('refuses %j in words', (text) => {
    expect(parsePartitionField(text)).toEqual({ wrong: expect.stringMatching(/.{10}/) });
  });
});
