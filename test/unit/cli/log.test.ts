import { describe, expect, it } from 'vitest';
import { createLog, type LogFormat, type LogLevel } from '../../../src/cli/log.ts';
import { Secret } from '../../../src/core/secret.ts';

function log(format: LogFormat, level: LogLevel = 'info') {
  const written: string[] = [];
  const made = createLog({
    out: { write: (t) => written.push(t), terminal: false, columns: () => undefined },
    format,
    level,
    beforeLine: () => written.push('<clear>'),
  });
  return { log: made, written };
}

describe('createLog', () => {
  it('writes JSON lines for programs: exact numbers, no secrets', () => {
    const { log: it_, written } = log('json');
    it_.warn('half', { batchId: 7, offset: 9007199254740993n, password: new Secret('hunter2') });
    expect(written[0]).toBe('<clear>');
    expect(written[1]).toContain('9007199254740993');
    expect(written[1]).not.toContain('hunter2');
    expect(JSON.parse(written[1])).toMatchObject({
      level: 'warn',
      message: 'half',
      batchId: 7,
      password: '***',
    });
    expect(JSON.parse(written[1]).time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('writes a plain line for people', () => {
    const { log: it_, written } = log('text');
    it_.info('batch 7 done', { records: 5, table: 'bronze.a', nested: { a: [1] } });
    expect(written[1]).toMatch(
      /^\d\d:\d\d:\d\d info {2}batch 7 done {2}records=5 table=bronze\.a nested=\{"a":\[1\]\}\n$/,
    );
    it_.error('no facts');
    expect(written[3]).toMatch(/^\d\d:\d\d:\d\d error no facts\n$/);
  });

  it('shows snapshot ids to people as they are, and no lists that the message has told of', () => {
    const { log: it_, written } = log('text');
    it_.info('2 columns were added: a INT, b INT', { snapshotId: 4642858166621828009n, added: ['a', 'b'] });
    expect(written[1]).toMatch(/ 2 columns were added: a INT, b INT {2}snapshotId=4642858166621828009\n$/);
  });

  it('leaves out what is below its level', () => {
    const { log: it_, written } = log('json', 'warn');
    it_.debug('a');
    it_.info('b');
    it_.error('c');
    expect(written.filter((t) => t !== '<clear>')).toHaveLength(1);
    const silent = log('text', 'silent');
    silent.log.error('x');
    expect(silent.written).toEqual([]);
  });
});
