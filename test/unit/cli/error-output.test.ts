import { describe, expect, it } from 'vitest';
import { reportError, wantsJson } from '../../../src/cli/error-output.ts';
import { Secret } from '../../../src/core/secret.ts';
import { SluiceError } from '../../../src/errors.ts';

function report(error: unknown, argv: string[] = []): { code: number; text: string } {
  let text = '';
  const code = reportError(error, argv, {
    write: (t) => {
      text += t;
    },
    terminal: false,
    columns: () => undefined,
  });
  return { code, text };
}

describe('reportError', () => {
  it('prints code, message, remedy and where to read more', () => {
    const { code, text } = report(new SluiceError('DATA_LOSS', 'orders-3 [100, 250) is gone'));
    expect(code).toBe(3);
    expect(text.split('\n')).toEqual([
      'error DATA_LOSS: orders-3 [100, 250) is gone',
      '  See the lost range; `sluice checkpoint reset --topic T --to unread` previews how to go on with what is still there.',
      '  See docs/errors.md#data_loss',
      '',
    ]);
  });

  it('names commands for the pipeline file that was given', () => {
    const error = new SluiceError('DATA_LOSS', '`sluice checkpoint reset --topic T --to unread` previews it');
    const message = (...argv: string[]) => report(error, ['run', ...argv]).text.split('\n')[0];
    expect(message()).toContain('`sluice checkpoint reset --topic T --to unread` previews');
    expect(message('-c', 'conf/a.yaml')).toContain('--to unread -c conf/a.yaml` previews');
    expect(message('--config', "it's.yaml")).toContain("--to unread -c 'it'\\''s.yaml'` previews");
    expect(message('--config=conf/a.yaml')).toContain('--to unread -c conf/a.yaml` previews');
    const named = new SluiceError('DATA_LOSS', '`sluice run -c b.yaml` does it');
    expect(report(named, ['run', '-c', 'a.yaml']).text).toContain('`sluice run -c b.yaml` does it');
  });

  it('shows a stack only on request, with the causes, or for a bug', () => {
    const error = new SluiceError('CATALOG_ERROR', 'no', { cause: new TypeError('inner') });
    expect(report(error).text).not.toContain('    at ');
    expect(report(error, ['--debug']).text).toMatch(/ {4}at [\s\S]*caused by TypeError: inner/);
    const bug = report(new TypeError('x is not a function'));
    expect(bug.code).toBe(70);
    expect(bug.text).toContain('error INTERNAL: x is not a function');
    expect(bug.text).toContain('    at ');
    expect(report('a text').text).toContain('error INTERNAL: a text');
  });

  it('prints one JSON line with every digit and no secret', () => {
    const error = new SluiceError('COMMIT_UNKNOWN', 'who knows', {
      outcome: 'unknown',
      context: { snapshotId: 8744736658442914487n, password: new Secret('hunter2') },
    });
    const { code, text } = report(error, ['status', '-o', 'json']);
    expect(code).toBe(75);
    expect(text.trim().split('\n')).toHaveLength(1);
    expect(text).toContain('"snapshotId":8744736658442914487');
    expect(text).not.toContain('hunter2');
    expect(JSON.parse(text).error).toMatchObject({
      code: 'COMMIT_UNKNOWN',
      message: 'who knows',
      exitCode: 75,
      retryable: true,
      outcome: 'unknown',
      docs: 'docs/errors.md#commit_unknown',
    });
  });
});

it.each([
  [['-o', 'json'], true],
  [['status', '--output', 'json'], true],
  [['--output=json'], true],
  [['-ojson'], true],
  [['-o', 'text'], false],
  [['json', '-o'], false],
  [[], false],
])('wantsJson(%j) is %s', (argv, expected) => {
  expect(wantsJson(argv)).toBe(expected);
});
