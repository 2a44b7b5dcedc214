import { describe, expect, it } from 'vitest';
import type { Schema } from '../../../src/core/schema.ts';
import { partitionDirectory } from '../../../src/engine/local/partition-directory.ts';
import { bindPartitionSpec, buildPartitionSpec } from '../../../src/iceberg/partition.ts';

const names = Array.from({ length: 6 }, (_, i) => `c${i}`);
const schema: Schema = {
  type: 'struct',
  schemaId: 0,
  fields: names.map((name, i) => ({ id: i + 1, name, required: false, type: 'string' as const })),
};
const bound = (columns: string[]) => bindPartitionSpec(buildPartitionSpec(columns, schema), [schema]);

describe('partitionDirectory', () => {
  it('is the path of the partition where names are short', () => {
    expect(partitionDirectory(bound(['c0', 'c1']), ['a/b', null])).toBe('c0=a%2Fb/c1=null');
    expect(partitionDirectory(bound([]), [])).toBe('');
  });

  it('cuts a long value, and keeps different values apart', () => {
    const one = partitionDirectory(bound(['c0', 'c1']), [`${'x'.repeat(5000)}1`, 'b']);
    const other = partitionDirectory(bound(['c0', 'c1']), [`${'x'.repeat(5000)}2`, 'b']);
    expect(one).toMatch(/^c0=x+-[0-9a-f]{16}\/c1=b$/);
    expect(one.split('/')[0]).toHaveLength(128);
    expect(other).not.toBe(one);
    expect(partitionDirectory(bound(['c0', 'c1']), [`${'x'.repeat(5000)}1`, 'b'])).toBe(one);
  });

  it('never cuts an escape in two', () => {
    for (let lead = 0; lead < 12; lead++) {
      const name = partitionDirectory(bound(['c0']), ['x'.repeat(lead) + '\u{1f600}'.repeat(100)]);
      expect(name.length).toBeLessThanOrEqual(128);
      expect(name.replaceAll(/%[0-9A-F]{2}/g, '')).not.toContain('%');
    }
  });

  it('gives many long values one name together', () => {
    const long = names.map((name) => name.repeat(100));
    expect(partitionDirectory(bound(names), long)).toMatch(/^partition-[0-9a-f]{32}$/);
  });
});
