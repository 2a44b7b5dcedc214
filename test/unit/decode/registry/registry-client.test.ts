import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  RegistryClient,
  type RegistryHost,
  type RegistryOptions,
} from '../../../../src/decode/registry/registry-client.ts';
import { SluiceError } from '../../../../src/errors.ts';
import { FakeRegistry, type FakeSchema, html, json } from '../../../support/fake-registry.ts';

const AVRO: FakeSchema = { id: 7, subject: 'a-value', version: 1, schema: '{"type":"string"}' };

/** Waits cost nothing and move the clock on. */
class TestHost implements RegistryHost {
  clockMs = 1_000;
  readonly waits: number[] = [];
  readonly faults: string[] = [];
  now = (): number => this.clockMs;
  random = (): number => 0.5;
  onWait: (() => unknown) | null = null;
  sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    this.waits.push(ms);
    this.clockMs += ms;
    await this.onWait?.();
    await nextTurn();
    signal.throwIfAborted();
  };
  onRetry = ({ fault }: { fault: string }): void => {
    this.faults.push(fault);
  };
}

let registry: FakeRegistry;
let host: TestHost;
const clients: RegistryClient[] = [];

beforeEach(async () => {
  registry = await FakeRegistry.start([AVRO]);
  host = new TestHost();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await registry.down();
});

async function open(options: Partial<RegistryOptions> = {}): Promise<RegistryClient> {
  const client = await RegistryClient.create(
    { 'schema.registry.url': registry.url, 'schema.registry.deadline.ms': 60_000, ...options },
    host,
  );
  clients.push(client);
  return client;
}

async function failure(work: Promise<unknown>): Promise<SluiceError> {
  const error = await work.then(
    (value) => new Error(`no error but ${JSON.stringify(value)}`),
    (e: unknown) => e,
  );
  if (!(error instanceof SluiceError)) throw error;
  return error;
}

describe('what the registry knows', () => {
  it('is asked for once and kept for ever', async () => {
    const client = await open();
    expect(client.cached(7)).toBeUndefined();
    const schema = await client.schema(7);
    expect(schema).toEqual({ id: 7, type: 'AVRO', schema: '{"type":"string"}', references: [] });
    host.clockMs += 1e9;
    expect(await client.schema(7)).toBe(schema);
    expect(client.cached(7)).toBe(schema);
    expect(registry.asked).toEqual(['GET /schemas/ids/7']);
  });

  it('is asked for once by many at the same time', async () => {
    const client = await open();
    const found = await Promise.all(Array.from({ length: 50 }, () => client.schema(7)));
    expect(new Set(found).size).toBe(1);
    expect(registry.asked).toHaveLength(1);
  });

  it('may be Protobuf or JSON, and lies below a base path', async () => {
    registry.basePath = '/apis/ccompat/v7';
    registry.schemas.push({
      id: 8,
      subject: 'p',
      version: 1,
      schema: 'syntax = "proto3";',
      schemaType: 'PROTOBUF',
    });
    registry.schemas.push({ id: 9, subject: 'j', version: 1, schema: '{}', schemaType: 'JSON' });
    const client = await open({ 'schema.registry.url': `${registry.url}/` });
    expect((await client.schemas([8, 9])).get(8)?.type).toBe('PROTOBUF');
    expect((await client.schema(9))?.type).toBe('JSON');
    expect(registry.asked).toContain('GET /apis/ccompat/v7/schemas/ids/8');
  });

  it('comes with its references, referred ones first, also those deleted softly', async () => {
    registry.schemas.push(
      { id: 1, subject: 'base', version: 3, schema: 'base' },
      {
        id: 2,
        subject: 'left/side',
        version: 1,
        schema: 'left',
        references: [{ name: 'b', subject: 'base', version: 3 }],
      },
      {
        id: 3,
        subject: 'right',
        version: 1,
        schema: 'right',
        references: [{ name: 'b', subject: 'base', version: 3 }],
      },
      {
        id: 4,
        subject: 'top',
        version: 1,
        schema: 'top',
        references: [
          { name: 'l', subject: 'left/side', version: 1 },
          { name: 'r', subject: 'right', version: 1 },
        ],
      },
    );
    const client = await open();
    expect((await client.schema(4))?.references).toEqual([
      { name: 'b', schema: 'base' },
      { name: 'l', schema: 'left' },
      { name: 'r', schema: 'right' },
    ]);
    expect(registry.count('/subjects/base/versions/3?deleted=true')).toBe(1);
    expect(registry.count('/subjects/left%2Fside/versions/1?deleted=true')).toBe(1);
  });

  it('gives the latest version of a subject each time anew', async () => {
    const client = await open();
    expect(await client.latest('a-value')).toMatchObject({ id: 7, version: 1, subject: 'a-value' });
    registry.schemas.push({ ...AVRO, id: 8, version: 2 });
    expect(await client.latest('a-value')).toMatchObject({ id: 8, version: 2, type: 'AVRO' });
    expect(await client.latest('nothing')).toBeNull();
  });
});

describe('an unknown id', () => {
  it('is believed after a second answer, and remembered for a while', async () => {
    const client = await open({ 'schema.registry.missing.cache.ttl.ms': 10_000 });
    expect(await client.schema(99)).toBeNull();
    expect(registry.count('/schemas/ids/99')).toBe(2);
    expect(client.cached(99)).toBeNull();
    expect(await client.schema(99)).toBeNull();
    expect(registry.asked).toHaveLength(2);
    host.clockMs += 10_001;
    registry.schemas.push({ ...AVRO, id: 99 });
    expect(client.cached(99)).toBeUndefined();
    expect((await client.schema(99))?.id).toBe(99);
  });

  it('is known where a second node has heard of it in the meantime', async () => {
    const client = await open();
    host.onWait = () => {
      if (registry.schemas.length === 1) registry.schemas.push({ ...AVRO, id: 98 });
    };
    expect((await client.schema(98))?.id).toBe(98);
  });

  it('is not asked for where no registry can have it', async () => {
    const client = await open();
    expect(await client.schemas([-1, -5, 2 ** 31, 1.5])).toEqual(
      new Map([-1, -5, 2 ** 31, 1.5].map((id) => [id, null])),
    );
    expect(registry.asked).toEqual([]);
  });

  it('is also one whose document is of another kind', async () => {
    registry.schemas.push({ ...AVRO, id: 5, schemaType: 'OPENAPI' });
    expect(await (await open()).schema(5)).toBeNull();
  });

  it('comes in thousands: a topic of something else', async () => {
    const client = await open();
    const ids = Array.from({ length: 2000 }, (_, i) => 1000 + i);
    expect([...(await client.schemas(ids)).values()].every((found) => found === null)).toBe(true);
    expect(registry.asked).toHaveLength(2008);
    expect(host.waits).toHaveLength(8);
    host.clockMs += 60_000;
    expect(await client.schema(5000)).toBeNull();
    expect(registry.count('/schemas/ids/5000')).toBe(2);
  });
});

describe('a registry in trouble', () => {
  const passing: [string, (typeof registry)['faults'][number]][] = [
    ['500', json(500, { error_code: 50001, message: 'Error in the backend' })],
    ['503 without a body', (response) => response.writeHead(503).end()],
    ['429', json(429, { message: 'slow down' })],
    ['a reset connection', (response) => response.socket?.resetAndDestroy()],
    ['a closed connection', (response) => response.socket?.destroy()],
    [
      'a body that breaks off',
      (response) => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('{"schema":');
        setImmediate(() => response.socket?.destroy());
      },
    ],
    ['torn JSON', (response) => response.end('{"schema":"{\\"type\\":')],
    ['a page of a proxy', html(404, '<h1>default backend</h1>')],
    ["the server's own 404", json(404, { error_code: 404, message: 'HTTP 404 Not Found' })],
    ['an empty answer', (response) => response.writeHead(200).end()],
    [
      'a redirect',
      (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/login?token=s3cret' }).end(),
    ],
  ];
  it.each(passing)('is asked again after %s', async (_, fault) => {
    registry.faults.push(fault, fault);
    const client = await open();
    expect((await client.schema(7))?.id).toBe(7);
    expect(registry.asked).toHaveLength(3);
    expect(host.waits).toEqual([75, 150]);
  });

  it('is asked again after a hang and after a trickle', async () => {
    registry.faults.push(
      () => {},
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const drip = setInterval(() => response.write(' '), 5);
        response.on('close', () => clearInterval(drip));
      },
    );
    const client = await open({ 'schema.registry.request.timeout.ms': 80 });
    expect((await client.schema(7))?.id).toBe(7);
    expect(host.faults).toEqual([
      `${registry.url}: no whole answer within 80 ms`,
      `${registry.url}: no whole answer within 80 ms`,
    ]);
  });

  it('is waited for as long as it asks, at most half a minute', async () => {
    registry.faults.push(json(503, {}, { 'retry-after': '7' }), json(429, {}, { 'retry-after': '99999' }));
    expect((await (await open()).schema(7))?.id).toBe(7);
    expect(host.waits).toEqual([7_000, 30_000]);
  });

  it('ends the look-up at the deadline, with address, question and last fault; and is asked anew the next time', async () => {
    registry.always = json(500, { error_code: 50002, message: 'Operation timed out' });
    const client = await open({ 'schema.registry.deadline.ms': 20_000 });
    const error = await failure(client.schema(7));
    expect(error.code).toBe('REGISTRY_UNREACHABLE');
    expect(error.retryable).toBe(true);
    expect(error.message).toContain('GET /schemas/ids/7');
    expect(error.message).toContain(`${registry.url}: status 500 (error_code 50002: Operation timed out)`);
    expect(host.clockMs).toBeLessThanOrEqual(21_000);
    registry.always = null;
    expect((await client.schema(7))?.id).toBe(7);
  });

  it('that cannot be reached ends it too', async () => {
    await registry.down();
    const error = await failure((await open()).schemas([7, 8, 9]));
    expect(error.code).toBe('REGISTRY_UNREACHABLE');
    expect(error.message).toMatch(/ECONNREFUSED/);
  });

  it('is never taken for an unknown id', async () => {
    for (const fault of [
      html(404, 'no such page'),
      json(404, { error_code: 404 }),
      json(404, { error_code: '40403' }),
      json(200, {}),
    ]) {
      registry.always = fault;
      const error = await failure((await open()).schema(7));
      expect(error.code).toBe('REGISTRY_CONFIG');
      expect(error.exitCode).toBe(78);
    }
  });

  it.each([
    ['a wrong base path', html(404, '<h1>Not Found</h1>'), 'status 404 and text/html of 18 characters'],
    ['a redirect', passing.at(-1)![1], 'a redirect to http://127.0.0.1:1/login, which is not followed'],
    ['a page to log in', html(200, '<form>'), 'status 200 and text/html of 6 characters'],
    ['JSON of something else', json(200, { ok: true }), 'JSON without a schema in it'],
    [
      'a version that is no number',
      json(200, { schema: '', references: [{ name: 'a', subject: 'b', version: 'x' }] }),
      'a reference that lacks',
    ],
  ])('that is no registry is told apart: %s', async (_, fault, what) => {
    registry.always = fault;
    const error = await failure((await open()).schema(7));
    expect(error.code).toBe('REGISTRY_CONFIG');
    expect(error.message).toContain(what);
    expect(host.clockMs).toBeLessThanOrEqual(11_000);
  });

  it('does not fill the memory', async () => {
    let sent = 0;
    registry.always = (response) => {
      const more = (): void => {
        for (let ok = true; ok && sent < 1e9; sent += 65_536) ok = response.write(Buffer.alloc(65_536, 0x20));
      };
      response.on('drain', more);
      more();
    };
    const client = await open({
      'schema.registry.max.response.bytes': 100_000,
    });
    const error = await failure(client.schema(7));
    expect(error.message).toContain('an answer of more than 100000 bytes');
    expect(sent).toBeLessThan(50_000_000);
  });
});

describe('credentials', () => {
  it('go with each request: basic, from the URL, bearer', async () => {
    const url = registry.url;
    await (await open({ 'basic.auth.user.info': 'ann:p:ß' })).schema(7);
    await (await open({ 'schema.registry.url': url.replace('//', '//bob:p%40ss@') })).schema(7);
    await (await open({ 'bearer.auth.token': 'abc.def' })).schema(7);
    const sent = registry.headers.map((headers) => headers.authorization);
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
    expect(sent).toEqual([basic('ann:p:ß'), basic('bob:p@ss'), 'Bearer abc.def']);
  });

  it.each([401, 403])('that are refused with %d end the look-up at once', async (status) => {
    registry.always = json(status, { error_code: status, message: 'User is not allowed' });
    const error = await failure((await open({ 'basic.auth.user.info': 'ann:s3cret' })).schema(7));
    expect(error.code).toBe('REGISTRY_AUTH');
    expect(error.message).toContain(`status ${status} (error_code ${status}: User is not allowed)`);
    expect(error.message).not.toContain('s3cret');
    expect(registry.asked).toHaveLength(1);
  });

  it('stand in no message', async () => {
    await registry.down();
    const url = registry.url.replace('//', '//bob:s3cret@');
    const error = await failure((await open({ 'schema.registry.url': url })).schema(7));
    expect(JSON.stringify([error.message, error.context, host.faults])).not.toContain('s3cret');
  });
});

describe('several addresses', () => {
  let second: FakeRegistry;
  beforeEach(async () => {
    second = await FakeRegistry.start([AVRO, { ...AVRO, id: 8 }]);
  });
  afterEach(() => second.down());

  it('are tried in turn without a wait, and the one that answers is kept', async () => {
    await registry.down();
    const client = await open({ 'schema.registry.url': `${registry.url} , ${second.url}` });
    expect((await client.schemas([7])).get(7)?.id).toBe(7);
    expect((await client.schema(8))?.id).toBe(8);
    expect(host.waits).toEqual([]);
    await registry.up();
    await second.down();
    registry.schemas.push({ ...AVRO, id: 9 });
    expect((await client.schema(9))?.id).toBe(9);
  });

  it('are all named where none answers', async () => {
    registry.always = json(500, {});
    second.always = html(502, '');
    const client = await open({ 'schema.registry.url': `${registry.url},${second.url}` });
    const error = await failure(client.schema(7));
    expect(error.message).toContain(`${registry.url}: status 500; ${second.url}: status 502`);
  });

  it('are both asked for an id that one does not know', async () => {
    const client = await open({ 'schema.registry.url': `${registry.url},${second.url}` });
    expect((await client.schema(8))?.id).toBe(8);
    expect([registry.count('/schemas/ids/8'), second.count('/schemas/ids/8')]).toEqual([1, 1]);
  });

  it('hide one that is no registry', async () => {
    registry.always = html(404, '');
    const client = await open({ 'schema.registry.url': `${registry.url},${second.url}` });
    expect((await client.schema(7))?.id).toBe(7);
  });
});

describe('an abort', () => {
  it('ends the wait of its caller and not that of another', async () => {
    let release = (): void => {};
    registry.faults.push((response) => {
      release = () => json(200, { schema: 'late' })(response);
    });
    const client = await open();
    const arrived = registry.nextRequest('/schemas/ids/7');
    const controller = new AbortController();
    const first = client.schema(7, controller.signal);
    const second = client.schema(7, new AbortController().signal);
    await arrived;
    controller.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    release();
    expect((await second)?.schema).toBe('late');
  });

  it('of the last caller gives the request up; the next one begins anew', async () => {
    const closed = new Promise<void>((resolve) =>
      registry.faults.push((_, request) => request.socket.on('close', () => resolve())),
    );
    const client = await open();
    const arrived = registry.nextRequest('/schemas/ids/7');
    const controller = new AbortController();
    const first = client.schema(7, controller.signal);
    await arrived;
    controller.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    await closed;
    expect((await client.schema(7))?.id).toBe(7);
  });

  it('ends the waits between tries', async () => {
    registry.always = json(500, {});
    const controller = new AbortController();
    host.onWait = () => controller.abort(new Error('stop'));
    await expect((await open()).schemas([7, 8, 9], controller.signal)).rejects.toThrow('stop');
  });

  it('is what closing does', async () => {
    registry.always = () => {};
    const client = await open();
    const arrived = registry.nextRequest('/schemas/ids/7');
    const waiting = client.schema(7);
    await arrived;
    client.close();
    expect((await failure(waiting)).code).toBe('REGISTRY_UNREACHABLE');
    expect((await failure(client.schema(7))).message).toContain('closed');
    expect((await failure(client.latest('a-value'))).message).toContain('closed');
  });
});

describe('references', () => {
  it('that go in a circle are refused with the path', async () => {
    const one = { name: 'x', subject: 'one', version: 1 };
    const two = { name: 'y', subject: 'two', version: 1 };
    registry.schemas.push(
      { id: 1, subject: 'one', version: 1, schema: '1', references: [two] },
      { id: 2, subject: 'two', version: 1, schema: '2', references: [one] },
    );
    const error = await failure((await open()).schema(1));
    expect(error.code).toBe('REGISTRY_SCHEMA');
    expect(error.message).toContain('two version 1 -> one version 1 -> two version 1');
  });

  it('that are missing are named, after a second look', async () => {
    registry.schemas.push({ ...AVRO, id: 1, references: [{ name: 'x.proto', subject: 'gone', version: 4 }] });
    const error = await failure((await open()).schema(1));
    expect(error.code).toBe('REGISTRY_SCHEMA');
    expect(error.message).toContain('x.proto, version 4 of subject gone');
    expect(registry.count('/subjects/gone/versions/4?deleted=true')).toBe(2);
  });

  it('that are too many or too deep are refused', async () => {
    const chain = Array.from({ length: 80 }, (_, i) => ({
      id: 100 + i,
      subject: `c${i}`,
      version: 1,
      schema: '',
      references: [{ name: `n${i + 1}`, subject: `c${i + 1}`, version: 1 }],
    }));
    const wide = Array.from({ length: 30 }, (_, i) => ({
      id: 300 + i,
      subject: `w${i}`,
      version: 1,
      schema: '',
      references: Array.from({ length: 40 }, (_, j) => ({
        name: `${i}.${j}`,
        subject: 'a-value',
        version: 1,
      })),
    }));
    const all = wide.map((w) => ({ name: w.subject, subject: w.subject, version: 1 }));
    registry.schemas.push(...chain, ...wide, {
      id: 400,
      subject: 'all',
      version: 1,
      schema: '',
      references: all,
    });
    const client = await open();
    expect((await failure(client.schema(100))).message).toContain('deeper than 64');
    expect((await failure(client.schema(400))).message).toContain('more than 1000 schemas');
  });
});

describe('options', () => {
  const url = 'http://127.0.0.1:1';
  it.each([
    [{ 'schema.registry.url': ' , ' }, 'at least one'],
    [{ 'schema.registry.url': 'localhost:8081' }, 'address 1: http:// or https:// expected'],
    [{ 'schema.registry.url': `${url},no url` }, 'address 2: it is no URL'],
    [{ 'schema.registry.url': `${url}?a=1` }, 'may not have a ?'],
    [{ 'schema.registry.url': url, 'basic.auth.user.info': 'nocolon' }, 'user:password expected'],
    [
      { 'schema.registry.url': url, 'basic.auth.user.info': 'a:b', 'bearer.auth.token': 't' },
      'one of them is enough',
    ],
    [{ 'schema.registry.url': 'http://u:p@h', 'bearer.auth.token': 't' }, 'it holds a user, and'],
    [{ 'schema.registry.url': url, 'bearer.auth.token': 'a\nb' }, 'bearer.auth.token'],
    [{ 'schema.registry.url': url, 'schema.registry.deadline.ms': 0 }, 'schema.registry.deadline.ms'],
    [
      { 'schema.registry.url': 'https://h', 'schema.registry.ssl.truststore.location': '/nowhere.pem' },
      'schema.registry.ssl.truststore.location: the file /nowhere.pem cannot be read (there is none)',
    ],
  ] as [RegistryOptions, string][])('are checked: %j', async (options, what) => {
    const error = await failure(RegistryClient.create(options, host));
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.message).toContain(what);
  });
});
