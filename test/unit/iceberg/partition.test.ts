import { describe, expect, it } from 'vitest';
import type { Schema } from '../../../src/core/schema.ts';
import {
  bindPartitionSpec,
  buildPartitionSpec,
  partitionFunctions,
  partitionPath,
  samePartitioning,
  urlEncode,
} from '../../../src/iceberg/partition.ts';

const SCHEMA: Schema = {
  type: 'struct',
  schemaId: 0,
  fields: [
    { id: 1, name: 'dt', required: false, type: 'string' },
    { id: 2, name: 'hour', required: false, type: 'int' },
    { id: 3, name: 'kafka_timestamp', required: false, type: 'timestamptz' },
    { id: 4, name: 'key', required: false, type: 'binary' },
    { id: 5, name: 'topic', required: false, type: 'string' },
    {
      id: 6,
      name: 'point',
      required: false,
      type: { type: 'struct', fields: [{ id: 7, name: 'x', required: true, type: 'int' }] },
    },
    {
      id: 8,
      name: 'list',
      required: false,
      type: { type: 'list', elementId: 9, element: 'int', elementRequired: true },
    },
  ],
};
const build = (...texts: string[]) => buildPartitionSpec(texts, SCHEMA);

describe('specs of texts', () => {
  it('names, transforms and ids as Java and Spark give them', () => {
    expect(
      build(
        'dt',
        'hour',
        'hours(kafka_timestamp)',
        'bucket(16, key)',
        'truncate(4, topic)',
        'identity(point.x)',
      ).fields,
    ).toEqual([
      { sourceId: 1, fieldId: 1000, name: 'dt', transform: 'identity' },
      { sourceId: 2, fieldId: 1001, name: 'hour', transform: 'identity' },
      { sourceId: 3, fieldId: 1002, name: 'kafka_timestamp_hour', transform: 'hour' },
      { sourceId: 4, fieldId: 1003, name: 'key_bucket', transform: 'bucket[16]' },
      { sourceId: 5, fieldId: 1004, name: 'topic_trunc', transform: 'truncate[4]' },
      { sourceId: 7, fieldId: 1005, name: 'point.x', transform: 'identity' },
    ]);
    expect(
      build(
        ' days( kafka_timestamp ) ',
        'bucket(key, 8)',
        'months(kafka_timestamp)',
        'YEARS(kafka_timestamp)',
      ).fields.map((f) => f.transform),
    ).toEqual(['day', 'bucket[8]', 'month', 'year']);
    expect(build().fields).toEqual([]);
  });

  it('a fault names the text and what is wrong with it', () => {
    const faults: [string[], string][] = [
      [['nope'], 'no column "nope"'],
      [['hours(dt)'], 'hour does not take column "dt" of type string'],
      [['bucket(0, key)'], 'expected bucket(N, column)'],
      [['bucket(key)'], 'expected bucket(N, column)'],
      [['days(a, b)'], 'days takes one column'],
      [['zorder(key)'], 'unknown transform "zorder"'],
      [['constructor(key)'], 'unknown transform "constructor"'],
      [['dt', 'dt'], 'another partition field has the name "dt"'],
      [['list'], 'identity does not take column "list" of type list'],
      [['days(kafka_timestamp'], 'expected a column'],
      [[''], 'expected a column'],
    ];
    for (const [texts, message] of faults) {
      expect(() => build(...texts)).toThrow('CONFIG_INVALID');
      expect(() => build(...texts)).toThrow(message);
    }
  });

  it('are compared by source, transform and name', () => {
    expect(samePartitioning(build('dt', 'hour'), { ...build('dt', 'hour'), specId: 7 })).toBe(true);
    expect(samePartitioning(build('dt', 'hour'), build('hour', 'dt'))).toBe(false);
    expect(samePartitioning(build('dt'), build('dt', 'hour'))).toBe(false);
  });
});

describe('paths', () => {
  it('names and values are URL-encoded', () => {
    const bound = bindPartitionSpec(build('dt', 'hour', 'hours(kafka_timestamp)'), [SCHEMA]);
    expect(partitionPath(bound, ['2024-05-01', 13, 419_669])).toBe(
      'dt=2024-05-01/hour=13/kafka_timestamp_hour=2017-11-16-05',
    );
    expect(partitionPath(bound, [null, null, null])).toBe('dt=null/hour=null/kafka_timestamp_hour=null');
    expect(partitionPath(bound, ['../../etc/passwd', 0, 0])).toBe(
      'dt=..%2F..%2Fetc%2Fpasswd/hour=0/kafka_timestamp_hour=1970-01-01-00',
    );
    expect(partitionPath(bindPartitionSpec(build(), [SCHEMA]), [])).toBe('');
  });

  it('encodes as java.net.URLEncoder', () => {
    expect(urlEncode("a b=c/d%é*~!'()-._\u{1f600}")).toBe(
      'a+b%3Dc%2Fd%25%C3%A9*%7E%21%27%28%29-._%F0%9F%98%80',
    );
    expect(urlEncode('lone \ud800 surrogate')).toBe('lone+%3F+surrogate');
  });

  it('functions of a spec; a dropped source or an unknown transform cannot be written', () => {
    const bound = bindPartitionSpec(build('hours(kafka_timestamp)', 'dt'), [SCHEMA]);
    expect(partitionFunctions(bound).map((f, i) => f([-1n, 'x'][i]))).toEqual([-1, 'x']);
    const gone = bindPartitionSpec(
      { specId: 1, fields: [{ sourceId: 99, fieldId: 1000, name: 'gone', transform: 'identity' }] },
      [SCHEMA],
    );
    expect(() => partitionFunctions(gone)).toThrow('UNSUPPORTED');
    const odd = bindPartitionSpec(
      { specId: 1, fields: [{ sourceId: 1, fieldId: 1000, name: 'odd', transform: 'zorder' }] },
      [SCHEMA],
    );
    expect(() => partitionFunctions(odd)).toThrow('zorder');
  });
});
