/** The file catalog where steps fail, processes die or stand still, and several commit at once. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileCatalog } from '../../../src/catalog/file-catalog.ts';
import { isSluiceError, type SluiceError } from '../../../src/errors.ts';
import type { LoadedTable } from '../../../src/iceberg/catalog.ts';
import type { TableUpdate } from '../../../src/iceberg/updates.ts';
import type { FileIO } from '../../../src/storage/file-io.ts';
import { LocalFileIO } from '../../../src/storage/local-file-io.ts';
import { FaultyFileIO } from '../../support/faulty-file-io.ts';
import { GatedFileIO } from '../../support/gated-file-io.ts';
import { catalogServices, ORDERS, ordersRequest, TestClock } from '../../support/iceberg-fixture.ts';
import { PowerLossFileIO } from '../../support/power-loss-file-io.ts';

const WRITER = fileURLToPath(new URL('../../support/file-catalog-writer.ts', import.meta.url));
let directory: string;
let clock: TestClock;
let warnings: string[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-file-catalog-'));
  clock = new TestClock();
  warnings = [];
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

let opened = 0;
function open(io: FileIO = new LocalFileIO(), warehouse = directory): FileCatalog {
  const services = catalogServices(io, clock, `process ${opened++}`);
  return new FileCatalog(
    { name: 'sluice', warehouse },
    { ...services, warn: (message) => void warnings.push(message) },
  );
}

const set = (key: string, value = 'yes'): TableUpdate[] => [
  { action: 'set-properties', updates: { [key]: value } },
];
const load = async (catalog = open()): Promise<LoadedTable> => (await catalog.loadTable(ORDERS))!;
const metadataPath = (name = ''): string => join(directory, 'bronze', 'orders', 'metadata', name);
const versions = (): string[] =>
  readdirSync(metadataPath())
    .filter((name) => /^v\d+\./.test(name))
    .sort((a, b) => Number(/\d+/.exec(a)![0]) - Number(/\d+/.exec(b)![0]));
const codeOf = (error: unknown): string => {
  if (!isSluiceError(error)) throw error;
  return error.code;
};

describe('a commit whose storage fails', () => {
  /** All calls of a load and a commit. */
  async function callsOfCommit(): Promise<number> {
    const catalog = open();
    await catalog.createTable(ORDERS, ordersRequest());
    const io = new FaultyFileIO(new LocalFileIO());
    const faulty = open(io);
    await faulty.commitTable(await load(faulty), [], set('first'));
    await catalog.dropTable(ORDERS);
    return io.calls.length;
  }

  it.each([
    ['before a call is done', 'before', false],
    ['after it was done, the reply lost', 'after', false],
    ['before a call and ever after, as a process that dies', 'before', true],
    ['after a call and ever after', 'after', true],
  ] as const)('%s: what it says of the outcome is true, at every call', async (_name, when, dead) => {
    const calls = await callsOfCommit();
    expect(calls).toBeGreaterThan(10);
    const ends = new Set<string>();
    for (let nth = 1; nth <= calls; nth++) {
      await open().createTable(ORDERS, ordersRequest());
      const io = new FaultyFileIO(new LocalFileIO(), { faults: [{ nth, when, dead }] });
      const faulty = open(io);
      let outcome: SluiceError['outcome'] = 'applied';
      try {
        await faulty.commitTable(await load(faulty), [], set('mark'));
      } catch (error) {
        // A load that failed has changed nothing, whatever it says.
        outcome = io.calls.some((call) => call.kind === 'createNew')
          ? isSluiceError(error)
            ? error.outcome
            : undefined
          : 'not-applied';
      }
      ends.add(String(outcome));
      const seen = await load();
      const there = seen.metadata.properties['mark'] === 'yes';
      if (outcome !== 'unknown')
        expect(there, `call ${nth}: ${JSON.stringify(io.calls.at(-1))}`).toBe(outcome === 'applied');
      // Whatever it left, the next process goes on.
      const next = open();
      const after = await next.commitTable(seen, [], set('next'));
      expect((await load()).metadata).toEqual(after.metadata);
      expect(versions()).toHaveLength(there ? 3 : 2);
      await next.dropTable(ORDERS);
    }
    expect([...ends]).toContain('applied');
  });

  it('never shows a table that was not wholly created, at every call', async () => {
    const io = new FaultyFileIO(new LocalFileIO());
    const catalog = open(io);
    await catalog.createTable(ORDERS, ordersRequest());
    const calls = io.calls.length;
    await open().dropTable(ORDERS);
    for (const when of ['before', 'after'] as const) {
      for (let nth = 1; nth <= calls; nth++) {
        const faulty = new FaultyFileIO(new LocalFileIO(), { faults: [{ nth, when, dead: true }] });
        const end = await open(faulty)
          .createTable(ORDERS, ordersRequest())
          .then(() => 'created', codeOf);
        const seen = await open().loadTable(ORDERS);
        if (end === 'created') expect(seen).toBeDefined();
        if (seen === undefined) await open().createTable(ORDERS, ordersRequest());
        else await open().commitTable(seen, [], set('on'));
        await open().dropTable(ORDERS);
      }
    }
  });

  it('is whole or gone where a drop is cut off, at every call', async () => {
    const prepare = async (): Promise<void> => {
      const catalog = open();
      let table = await catalog.createTable(ORDERS, ordersRequest());
      for (const key of ['a', 'b', 'c']) table = await catalog.commitTable(table, [], set(key));
    };
    await prepare();
    const io = new FaultyFileIO(new LocalFileIO());
    await open(io).dropTable(ORDERS);
    for (const when of ['before', 'after'] as const) {
      for (let nth = 1; nth <= io.calls.length; nth++) {
        await prepare();
        const faulty = new FaultyFileIO(new LocalFileIO(), { faults: [{ nth, when, dead: true }] });
        await open(faulty).dropTable(ORDERS).catch(codeOf);
        const seen = await open().loadTable(ORDERS);
        if (seen === undefined) continue;
        expect(seen.metadata.properties).toMatchObject({ a: 'yes', b: 'yes', c: 'yes' });
        await open().dropTable(ORDERS);
      }
    }
  });

  it('a hint that cannot be written is told, and no fault of the commit', async () => {
    const catalog = open();
    const created = await catalog.createTable(ORDERS, ordersRequest());
    const io = new FaultyFileIO(new LocalFileIO(), {
      faults: [{ kind: 'replace', path: /version-hint/, nth: 1, when: 'before' }],
    });
    await open(io).commitTable(created, [], set('mark'));
    expect(warnings).toEqual([expect.stringContaining('version-hint.text could not be set to 2')]);
    expect(readFileSync(metadataPath('version-hint.text'), 'utf8')).toBe('1');
    expect((await load()).metadata.properties['mark']).toBe('yes');
  });
});

describe('a power loss', () => {
  it.each([0, 1])('keeps every commit that was answered (%i of the unsynced survives)', async (most) => {
    const io = new PowerLossFileIO();
    const catalog = open(io, '/warehouse');
    let table = await catalog.createTable(ORDERS, ordersRequest());
    for (let n = 0; n < 5; n++) {
      table = await catalog.commitTable(table, [], set(`n${n}`));
      io.crash((all) => all * most);
      expect((await open(io, '/warehouse').loadTable(ORDERS))!.metadata).toEqual(table.metadata);
    }
  });
});

describe('several writers', () => {
  it('processes that commit at once lose nothing and double nothing', async () => {
    await open().createTable(ORDERS, ordersRequest({ 'write.metadata.previous-versions-max': '2' }));
    const count = 40;
    const ended = await Promise.all(
      ['one', 'two', 'three'].map(
        (writer) =>
          new Promise<{ conflicts: number; unknown: number }>((resolve, reject) => {
            const child = spawn(process.execPath, [WRITER, directory, writer, String(count)], {
              stdio: ['ignore', 'pipe', 'inherit'],
            });
            let text = '';
            child.stdout.on('data', (piece: Buffer) => {
              text += piece.toString();
            });
            child.on('error', reject);
            child.on('close', (code) =>
              code === 0 ? resolve(JSON.parse(text)) : reject(new Error(`ended with ${code}`)),
            );
          }),
      ),
    );
    const { metadata, metadataLocation } = await load();
    expect(Object.keys(metadata.properties).filter((key) => key.startsWith('done.'))).toHaveLength(3 * count);
    // One version for each commit and none more: none was lost to another and made again.
    expect(metadataLocation).toMatch(new RegExp(`/v${3 * count + 1}\\.metadata\\.json$`));
    const last = [-1, 0, 1].map((beyond) => `v${3 * count + beyond}.metadata.json`);
    const sum = (of: (end: (typeof ended)[number]) => number): number =>
      ended.reduce((total, end) => total + of(end), 0);
    expect(versions().slice(-3)).toEqual(last);
    // Only one that was told that it does not know can have left a version behind.
    expect(versions().length - 3).toBeLessThanOrEqual(sum((end) => end.unknown));
    expect(sum((end) => end.conflicts)).toBeGreaterThan(0);
  });

  it('one that stood still before its create, while the others went on and cleaned its version away, is told so', async () => {
    const other = open();
    let table = await other.createTable(
      ORDERS,
      ordersRequest({ 'write.metadata.previous-versions-max': '1' }),
    );
    const gated = new GatedFileIO(new LocalFileIO());
    const still = open(gated);
    const base = await load(still);
    const gate = gated.gate('createNew', /v2\.metadata\.json$/);
    const late = still.commitTable(base, [], set('late'));
    await gate.reached;
    for (let n = 0; n < 5; n++) table = await other.commitTable(table, [], set(`n${n}`));
    expect(versions()).toEqual(['v5.metadata.json', 'v6.metadata.json']);
    gate.open();
    await expect(late).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN', outcome: 'unknown' });
    // The file is there and no part of the table; readers and writers go on from the newest.
    expect(versions()).toContain('v2.metadata.json');
    expect((await load()).metadata).toEqual(table.metadata);
    rmSync(metadataPath('version-hint.text'));
    expect((await load()).metadata).toEqual(table.metadata);
    await open().commitTable(await load(), [], set('on'));
    expect((await load()).metadata.properties['late']).toBeUndefined();
  });

  it('one whose version was built upon before it looked again has committed', async () => {
    await open().createTable(ORDERS, ordersRequest());
    const gated = new GatedFileIO(new LocalFileIO());
    const still = open(gated);
    const base = await load(still);
    const created = gated.gate('createNew', /v2\.metadata\.json$/);
    const commit = still.commitTable(base, [], set('first'));
    await created.reached;
    const look = gated.gate('list', /metadata$/);
    created.open();
    await look.reached;
    await open().commitTable(await load(), [], set('second'));
    look.open();
    expect((await commit).metadata.properties['first']).toBe('yes');
    expect((await load()).metadata.properties).toMatchObject({ first: 'yes', second: 'yes' });
  });

  it('one whose table was dropped and made anew meanwhile touches nothing of the new one', async () => {
    const other = open();
    await other.createTable(ORDERS, ordersRequest());
    const gated = new GatedFileIO(new LocalFileIO());
    const still = open(gated);
    const base = await load(still);
    const gate = gated.gate('createNew', /v2\.metadata\.json$/);
    const late = still.commitTable(base, [], set('late'));
    await gate.reached;
    await other.dropTable(ORDERS);
    await other.createTable(ORDERS, ordersRequest());
    const recreated = await load();
    await other.commitTable(recreated, [], set('second'));
    gate.open();
    await expect(late).rejects.toMatchObject({ code: 'COMMIT_CONFLICT', outcome: 'not-applied' });
    // And one that comes with the old table in hand later still.
    await expect(open().commitTable(base, [], set('later'))).rejects.toMatchObject({
      code: 'COMMIT_CONFLICT',
    });
    const { tableUuid, properties } = (await load()).metadata;
    expect(tableUuid).toBe(recreated.metadata.tableUuid);
    expect([properties['late'], properties['later'], properties['second']]).toEqual([
      undefined,
      undefined,
      'yes',
    ]);
  });
});

describe('the hint', () => {
  async function sixVersions(): Promise<LoadedTable> {
    const catalog = open();
    let table = await catalog.createTable(ORDERS, ordersRequest());
    for (let n = 0; n < 5; n++) table = await catalog.commitTable(table, [], set(`n${n}`));
    return table;
  }

  it.each(['', 'x', '-3', '999', '0', '12345678901234567890', '1e3', '\0\0'])(
    'of %j is passed over, and put right by the next commit',
    async (text) => {
      const table = await sixVersions();
      writeFileSync(metadataPath('version-hint.text'), text);
      expect((await load()).metadata).toEqual(table.metadata);
      await open().commitTable(await load(), [], set('next'));
      expect(readFileSync(metadataPath('version-hint.text'), 'utf8')).toBe('7');
    },
  );

  it.each(['1', '3', '5', ' 6\n', '+6'])('of %j leads to the newest version', async (text) => {
    const table = await sixVersions();
    writeFileSync(metadataPath('version-hint.text'), text);
    expect((await load()).metadata).toEqual(table.metadata);
  });

  it('that is far behind, or of a version that was cleaned away, leads there too', async () => {
    const catalog = open();
    let table = await catalog.createTable(
      ORDERS,
      ordersRequest({ 'write.metadata.delete-after-commit.enabled': 'false' }),
    );
    for (let n = 0; n < 50; n++) table = await catalog.commitTable(table, [], set('n', String(n)));
    for (const hint of ['1', '30']) {
      writeFileSync(metadataPath('version-hint.text'), hint);
      expect((await load()).metadata).toEqual(table.metadata);
    }
    for (let n = 1; n < 40; n++) rmSync(metadataPath(`v${n}.metadata.json`));
    writeFileSync(metadataPath('version-hint.text'), '7');
    expect((await load()).metadata).toEqual(table.metadata);
  });

  it('that leads to a version left behind makes no commit upon it', async () => {
    const table = await sixVersions();
    writeFileSync(metadataPath('version-hint.text'), '2');
    rmSync(metadataPath('v3.metadata.json'));
    const old = await load();
    expect(old.metadataLocation).toMatch(/v2\.metadata\.json$/);
    await expect(open().commitTable(old, [], set('on old'))).rejects.toMatchObject({
      code: 'COMMIT_CONFLICT',
      outcome: 'not-applied',
    });
    expect(readFileSync(metadataPath('version-hint.text'), 'utf8')).toBe('6');
    expect((await load()).metadata).toEqual(table.metadata);
  });
});

describe('what a directory cannot be', () => {
  it('names that lead out of the warehouse, or could not be told apart, are refused', async () => {
    const bad = ['..', '.', 'a/b', 'a.b', '', 'x\0y', 'line\nfeed', 'n'.repeat(256)];
    for (const name of bad) {
      const refused = { code: 'CATALOG_ERROR' };
      await expect(open().createTable({ namespace: ['a'], name }, ordersRequest())).rejects.toMatchObject(
        refused,
      );
      await expect(
        open().createTable({ namespace: [name], name: 't' }, ordersRequest()),
      ).rejects.toMatchObject(refused);
      await expect(open().loadTable({ namespace: ['a'], name })).rejects.toMatchObject(refused);
      await expect(open().createNamespace([name])).rejects.toMatchObject(refused);
    }
    expect(readdirSync(directory)).toEqual([]);
  });

  it('a namespace inside of a table, or a table at another place', async () => {
    await open().createTable(ORDERS, ordersRequest());
    const inside = { namespace: ['bronze', 'orders'], name: 'inner' };
    await expect(open().createTable(inside, ordersRequest())).rejects.toMatchObject({
      code: 'CATALOG_ERROR',
    });
    const elsewhere = { ...ordersRequest(), location: join(directory, 'elsewhere') };
    await expect(
      open().createTable({ namespace: ['bronze'], name: 'other' }, elsewhere),
    ).rejects.toMatchObject({ code: 'CATALOG_ERROR' });
  });

  it('a table that moves, or keeps its metadata somewhere else, or packs it unknown', async () => {
    const table = await open().createTable(ORDERS, ordersRequest());
    for (const update of [
      { action: 'set-location', location: join(directory, 'elsewhere') },
      ...set('write.metadata.path', join(directory, 'elsewhere')),
      ...set('write.metadata.compression-codec', 'lzo'),
    ] as TableUpdate[]) {
      await expect(open().commitTable(table, [], [update])).rejects.toMatchObject({
        code: 'CATALOG_ERROR',
        outcome: 'not-applied',
      });
    }
    expect(versions()).toEqual(['v1.metadata.json']);
  });

  it('directories of other things are no namespaces', async () => {
    await open().createTable(ORDERS, ordersRequest());
    const io = new LocalFileIO();
    for (const path of [
      '_checkpoints/p/offsets/0',
      'hive/dt=1/part-0',
      'a.b/c',
      'bronze/notes.txt',
      'deep/er/metadata/x',
    ])
      await io.createNew(join(directory, path), new Uint8Array(1));
    await open().createNamespace(['silver', 'clean']);
    expect(await open().listNamespaces()).toEqual([['bronze'], ['silver', 'clean']]);
    expect(await open().listTables(['bronze'])).toEqual([ORDERS]);
    expect(await open().listTables(['deep'])).toEqual([]);
  });
});
