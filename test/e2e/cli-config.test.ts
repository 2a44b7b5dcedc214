/** The command line as a person uses it on pipeline files that are wrong: exit code 78, every place, no secret. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { BIN, sluice as runSluice } from './run-sluice.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/ad-events-bronze/sluice.yaml', import.meta.url));
const DIRECTORY = mkdtempSync(join(tmpdir(), 'sluice-e2e-'));
afterAll(() => rmSync(DIRECTORY, { recursive: true }));

const SECRET = 'hunter2-never-print-me';

const sluice = (argv: string[], env: Record<string, string> = {}) => runSluice(argv, { cwd: DIRECTORY, env });

let files = 0;
function file(text: string): string {
  const name = `pipeline-${files++}.yaml`;
  writeFileSync(join(DIRECTORY, name), text);
  return name;
}

const GOOD = `name: p
checkpointLocation: ./cp
catalog: { type: sqlite, uri: ./c.db, warehouse: ./w }
source:
  kafka.bootstrap.servers: localhost:9092
  subscribe: a
`;

/** Class of fault -> the rest of the file, and the lines that must be shown. */
const FAULTS: [string, string, string[]][] = [
  ['YAML_SYNTAX', 'memory: "64MB\n', ['8:1 YAML_SYNTAX a quote, a bracket']],
  ['DUPLICATE_KEY', 'name: q\n', ['7:1 DUPLICATE_KEY name: stands in line 1 already']],
  ['KEY_NOT_TEXT', '? [a]\n: b\n', ['7:3 KEY_NOT_TEXT']],
  ['TOO_LARGE', 'x: &x [*x]\n', ['TOO_LARGE x']],
  [
    'UNKNOWN_OPTION',
    '  maxOffsetPerTrigger: 5\nmemroy: 1GB\n',
    [
      '7:3 UNKNOWN_OPTION source.maxOffsetPerTrigger: there is no such option; did you mean maxOffsetsPerTrigger?',
      '8:1 UNKNOWN_OPTION memroy: there is no such option; did you mean memory?',
    ],
  ],
  [
    'WRONG_VALUE',
    'memory: plenty\ntrigger: { processingTime: [1] }\n',
    ['7:9 WRONG_VALUE memory: expected a size', '8:28 WRONG_VALUE trigger.processingTime'],
  ],
  ['CONTRADICTION', '  assign: {"a":[0]}\n', ['7:11 CONTRADICTION source.assign: subscribe is given too']],
  [
    'UNSUPPORTED',
    '  endingOffsets: latest\nengine: spark\n',
    ['7:3 UNSUPPORTED source.endingOffsets', '8:9 UNSUPPORTED engine: "spark" is not in this version'],
  ],
  [
    'VARIABLE_UNSET',
    'memory: ${NOT_SET_HERE}\n',
    ['7:9 VARIABLE_UNSET memory: the variable NOT_SET_HERE is not set'],
  ],
  ['VARIABLE_SYNTAX', 'memory: ${A-B}\n', ['7:9 VARIABLE_SYNTAX memory: expected ${VAR}']],
  [
    'SECRET_UNAVAILABLE',
    '  kafka.sasl.password: env:NOT_SET_HERE\n',
    ['7:24 SECRET_UNAVAILABLE source.kafka.sasl.password: the variable NOT_SET_HERE is not set'],
  ],
];

describe('a file with faults', () => {
  it.each(FAULTS)('%s', async (_code, rest, lines) => {
    const name = file(GOOD + rest);
    const { code, stdout, stderr } = await sluice(['validate', '-c', name]);
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    expect(stderr).toMatch(/^error CONFIG_INVALID: /);
    for (const line of lines) expect(stderr).toContain(line.match(/^\d/) ? `  ${name}:${line}` : line);
    expect(stderr).toContain('See docs/errors.md#config_invalid');
    expect(stderr).not.toContain('    at ');
  });

  it('names what is missing', async () => {
    const name = file('name: p\n');
    const { code, stderr } = await sluice(['validate', '-c', name]);
    expect(code).toBe(78);
    for (const option of ['checkpointLocation', 'catalog', 'source'])
      expect(stderr).toContain(`${name}:1:1 MISSING_OPTION ${option}`);
  });

  it('is told to programs as JSON', async () => {
    const name = file(`${GOOD}memory: plenty\nengin: local\n`);
    const { code, stdout, stderr } = await sluice(['validate', '-c', name, '-o', 'json']);
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    const { error } = JSON.parse(stderr);
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', exitCode: 78 });
    expect(error.context.faults).toMatchObject([
      { file: name, line: 7, column: 9, code: 'WRONG_VALUE', path: 'memory' },
      { file: name, line: 8, column: 1, code: 'UNKNOWN_OPTION', path: 'engin', nearest: 'engine' },
    ]);
  });

  it.each(['run', 'status', 'explain', 'verify'])(
    'stops %s too, before anything is opened',
    async (command) => {
      const { code, stdout, stderr } = await sluice([command, '-c', file(`${GOOD}memory: plenty\n`)]);
      expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
      expect(stderr).toContain('WRONG_VALUE memory');
    },
  );

  it('may be wrong by --set and by a variable', async () => {
    const { code, stderr } = await sluice(
      ['validate', '-c', file(GOOD), '--set', 'memory=64MB', '--set', 'source.workers=none'],
      { SLUICE_MAX_OFFSETS_PER_TRIGGER: '-1' },
    );
    expect(code).toBe(78);
    expect(stderr).toContain('--set:2:1 WRONG_VALUE source.workers');
    expect(stderr).toContain('SLUICE_MAX_OFFSETS_PER_TRIGGER:1:1 WRONG_VALUE source.maxOffsetsPerTrigger');
  });

  it('is found fault with where it is run or checked, not where a command only looks', async () => {
    const often = file(`${GOOD}trigger: { processingTime: 1 second }\n`);
    const checked = await sluice(['validate', '-c', often]);
    expect(checked.stderr).toContain('LINT trigger.processingTime');
    const looked = await sluice(['status', '--no-broker', '-c', often]);
    expect({ code: looked.code, stderr: looked.stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('that is not there is CONFIG_NOT_FOUND', async () => {
    const { code, stderr } = await sluice(['validate', '-c', 'nowhere.yaml']);
    expect(code).toBe(78);
    expect(stderr).toContain('error CONFIG_NOT_FOUND: nowhere.yaml: there is no such file in ');
  });
});

describe('secrets', () => {
  const login = (value: string) =>
    `${GOOD}  kafka.security.protocol: SASL_SSL\n  kafka.sasl.mechanism: PLAIN\n  kafka.sasl.username: u\n  kafka.sasl.password: ${value}\n`;
  const good: [string, string][] = [
    ['in plain', login(SECRET)],
    ['by a variable', login('${PASSWORD}')],
    ['by reference', login('env:PASSWORD')],
  ];
  const bad: [string, string][] = [
    ['of the wrong type', login(`[${SECRET}]`)],
    ['in a broken text', login(`"${SECRET}" x`)],
    ['from a command that fails', login(`"exec:echo ${'$'}PASSWORD; echo ${'$'}PASSWORD >&2; exit 1"`)],
    ['in the wrong place', `${GOOD}memory: \${PASSWORD}\nname: \${PASSWORD}\n`],
    ['in an address', GOOD.replace('./c.db', `postgresql://user:${SECRET}@host/db`)],
    [
      'in a JAAS text',
      `${GOOD}  kafka.sasl.jaas.config: PlainLoginModule required username="u" password="${SECRET}"\n`,
    ],
    ['under a wrong name', `${GOOD}  kafka.sasl.pasword: ${SECRET}\n  password: ${SECRET}\n`],
  ];

  it.each(good)('%s never print, and are taken', async (_name, text) => {
    for (const argv of [
      ['validate', '--debug'],
      ['validate', '-o', 'json'],
    ]) {
      const { code, stdout, stderr } = await sluice([...argv, '-c', file(text)], { PASSWORD: SECRET });
      expect(code).toBe(0);
      expect(stdout + stderr).not.toContain(SECRET);
    }
  });

  it.each(bad)('%s never print', async (_name, text) => {
    for (const argv of [
      ['validate', '--debug'],
      ['validate', '-o', 'json'],
      ['run', '--debug'],
    ]) {
      const { code, stdout, stderr } = await sluice([...argv, '-c', file(text)], { PASSWORD: SECRET });
      expect(code).toBe(78);
      expect(stderr).not.toBe('');
      expect(stdout + stderr).not.toContain(SECRET);
    }
  });
});

describe('a good file', () => {
  it('is valid, with a word about what has no effect', async () => {
    const { code, stdout, stderr } = await sluice([
      'validate',
      '-c',
      file(`${GOOD}http: { listen: "127.0.0.1:8077" }\n`),
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^pipeline-\d+\.yaml: pipeline p is valid \(1 warning\)\n$/);
    expect(stderr).toMatch(/^warning pipeline-\d+\.yaml:7:9 NO_EFFECT http\.listen: /);
  });

  it('may be strict about it', async () => {
    const { code, stderr } = await sluice([
      'validate',
      '--strict',
      '-c',
      file(`${GOOD}trigger: { processingTime: 1s }\n`),
    ]);
    expect(code).toBe(78);
    expect(stderr).toContain('7:12 LINT trigger.processingTime: a batch more often than every 10 seconds');
  });

  it('of the examples', async () => {
    const { code, stdout } = await sluice(['validate', '-c', EXAMPLE]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${EXAMPLE}: pipeline ad-events-bronze is valid\n` });
  });

  it('is looked for under its usual names', async () => {
    writeFileSync(join(DIRECTORY, 'sluice.yaml'), GOOD.replace('name: p', 'name: usual'));
    const { code, stdout } = await sluice(['validate']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'sluice.yaml: pipeline usual is valid\n' });
  });

  it('does not make a checkpoint or a catalog by being looked at', async () => {
    const name = file(GOOD.replaceAll('./', './untouched/'));
    const show = await sluice(['checkpoint', 'show', '-c', name]);
    expect(show).toMatchObject({ code: 0, stderr: '' });
    expect(show.stdout).toContain('nothing was ever run here');
    const list = await sluice(['table', 'list', '-c', name]);
    expect(list.code).toBe(69);
    expect(list.stderr).toContain('error CATALOG_UNREACHABLE: there is no catalog at');
    const status = await sluice(['status', '--no-broker', '-o', 'json', '-c', name]);
    expect(status.code).toBe(0);
    expect(JSON.parse(status.stdout)).toMatchObject({
      name: 'p',
      id: null,
      readLag: null,
      checkpoint: { lastPlanned: null },
    });
    await expect(
      import('node:fs/promises').then((fs) => fs.stat(join(DIRECTORY, 'untouched'))),
    ).rejects.toThrow('ENOENT');
  });
});

describe('the frame', () => {
  it('prints the version', async () => {
    for (const flag of ['--version', '-V']) {
      const { code, stdout, stderr } = await sluice([flag]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    }
  });

  it('is not disturbed by a reader that has seen enough', async () => {
    const child = spawn(process.execPath, [BIN, 'schema'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('a wrong command line is 64', async () => {
    const { code, stderr } = await sluice(['validte']);
    expect(code).toBe(64);
    expect(stderr).toContain('error USAGE');
  });

  it('brokers that nobody reaches are 69, and the checkpoint is shown all the same', async () => {
    // Port 9 of the loopback: nothing listens there.
    const name = file(GOOD.replace('localhost:9092', '127.0.0.1:9'));
    const { code, stdout, stderr } = await sluice(['status', '--timeout', '500ms', '-c', name]);
    expect(code).toBe(69);
    expect(stdout).toMatch(/^(STALL|STOP)\n {2}the brokers cannot be reached, .*127\.0\.0\.1:9 \(/);
    expect(stdout).toContain('brokers        127.0.0.1:9 (not reached)');
    expect(stdout).toContain('committed lag  unknown');
    expect(stdout).toContain('lost           unknown');
    expect(stderr).toContain('error BROKER_UNREACHABLE');
  });
});
