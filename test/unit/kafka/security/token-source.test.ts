import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TokenInput } from '../../../../src/core/oauth-token.ts';
import { readClientSettings } from '../../../../src/kafka/client-options.ts';
import type { TokenLogin } from '../../../../src/kafka/security/settings.ts';
import { TokenSource } from '../../../../src/kafka/security/token-source.ts';
import { CLIENT, startTokenServer, type TokenServer } from '../../../support/token-server.ts';

let server: TokenServer;
let now: number;
let warnings: string[];

beforeAll(async () => {
  server = await startTokenServer('carol');
});

afterAll(() => server.close());

beforeEach(() => {
  now = Date.now();
  warnings = [];
  server.answer = null;
  server.lifetime = 3600;
});

function source(kafka: Record<string, string>, own?: TokenInput): TokenSource {
  const options = Object.entries(kafka).map(([key, value]) => [`sasl.${key}`, value]);
  const { security } = readClientSettings({
    bootstrapServers: 'a:1',
    clientId: 't',
    kafka: {
      'security.protocol': 'SASL_SSL',
      'sasl.mechanism': 'OAUTHBEARER',
      ...Object.fromEntries(options),
    },
    requestDeadlineMs: 1,
  });
  const login = security!.login as TokenLogin;
  return new TokenSource({ login, own, wallNow: () => now, log: ({ msg }) => void warnings.push(msg) });
}

const credentials = (more: Record<string, string> = {}): Record<string, string> => ({
  'oauthbearer.token.endpoint.url': server.url,
  'oauthbearer.client.credentials.client.id': CLIENT.id,
  'oauthbearer.client.credentials.client.secret': CLIENT.secret,
  ...more,
});

const json = (status: number, body: unknown) => (response: http.ServerResponse) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
};

describe('the tokens of an endpoint', () => {
  it('are kept, renewed after 80 % of their life, and fetched anew after it', async () => {
    const tokens = source(credentials());
    const before = server.issued;
    const [first, same] = await Promise.all([tokens.get(), tokens.get()]);
    expect([first.value === same.value, server.issued - before]).toEqual([true, 1]);
    expect(first.expiresAtMs).toBeLessThanOrEqual(now + 3_600_000);
    now += 2_800_000;
    expect((await tokens.get()).value).toBe(first.value);
    expect(server.issued - before).toBe(1);
    now += 100_000;
    const second = await tokens.get();
    expect([second.value !== first.value, server.issued - before]).toEqual([true, 2]);
    expect((await tokens.get()).value).toBe(second.value);
    now += 3_600_000;
    server.lifetime = 7200;
    await tokens.get();
    expect(server.issued - before).toBe(3);
  });

  it('do not make a login wait for an endpoint that has become slow', async () => {
    const tokens = source(credentials());
    const first = await tokens.get();
    let answerNow: () => void = () => {};
    server.answer = (response) => {
      answerNow = () => json(200, { access_token: 'late' })(response);
    };
    now += 3_000_000;
    expect((await tokens.get()).value).toBe(first.value);
    answerNow();
    server.answer = null;
  });

  it('are given up when a broker refuses them', async () => {
    const tokens = source(credentials());
    const first = await tokens.get();
    const second = await tokens.get(first.value);
    expect(second.value).not.toBe(first.value);
    expect((await tokens.get(first.value)).value).toBe(second.value);
  });

  it('hold while the endpoint is away, with a warning', async () => {
    const tokens = source(credentials());
    const first = await tokens.get();
    server.answer = json(503, {});
    now += 3_000_000;
    expect((await tokens.get()).value).toBe(first.value);
    expect(warnings).toHaveLength(1);
    now += 700_000;
    await expect(tokens.get()).rejects.toMatchObject({ code: 'KAFKA_AUTH', retryable: false });
  });

  it('are asked for again after a fault that may pass', async () => {
    let faults = 2;
    server.answer = (response) => {
      if (--faults === 0) server.answer = null;
      json(503, 'busy')(response);
    };
    expect((await source(credentials()).get()).value).toContain('.');
  });

  it('come with RFC 6749 encoding where it is asked for', async () => {
    const wrong = source(credentials({ 'oauthbearer.header.urlencode': 'true' }));
    await expect(wrong.get()).rejects.toThrow('status 401');
  });

  it.each<[string, Parameters<typeof json>, RegExp]>([
    [
      'refuses the client',
      [401, { error: 'invalid_client', error_description: `secret ${CLIENT.secret}` }],
      /status 401 \(invalid_client: secret \*\*\*\); check .*client\.id/,
    ],
    ['does not know the path', [404, 'x'.repeat(5000)], /status 404; check .*endpoint\.url/],
    ['sends elsewhere', [302, ''], /status 302/],
    ['has a fault of its own', [500, 'stack trace'], /status 500$/],
    ['is a web page', [200, '<html>'], /did not answer with JSON/],
    ['gives no token', [200, { token: 'x' }], /no access_token/],
    ['gives null', [200, 'null'], /no access_token/],
    [
      'gives a token with a separator',
      [200, { access_token: 'a\x01auth=b' }],
      /characters that a bearer token cannot have/,
    ],
    ['gives an empty token', [200, { access_token: '' }], /is empty/],
    [
      'gives a token of the past',
      [200, { access_token: `a.${Buffer.from('{"exp":1}').toString('base64url')}.c` }],
      /expired already, at 1970-01-01T00:00:01/,
    ],
    ['never ends its answer', [200, 'x'.repeat(1_200_000)], /broke off \(more than 1048576 bytes\)/],
  ])('an endpoint that %s is told, without the secret', async (_what, answer, message) => {
    server.answer = json(...answer);
    const getting = source(credentials()).get();
    await expect(getting).rejects.toMatchObject({
      code: 'KAFKA_AUTH',
      retryable: false,
      message: expect.stringMatching(message),
    });
    await expect(getting).rejects.not.toThrow(CLIENT.secret);
  });

  it('an endpoint that says nothing is given up after the time-out', async () => {
    server.answer = () => {};
    const tokens = source(credentials({ 'login.read.timeout.ms': '50' }));
    await expect(tokens.get()).rejects.toThrow(
      /did not answer within 0\.05 s \(kafka\.sasl\.login\.read\.timeout/,
    );
  });

  it('an endpoint that is not there is told', async () => {
    const gone = await startTokenServer('x');
    await gone.close();
    const tokens = source(credentials({ 'oauthbearer.token.endpoint.url': gone.url }));
    await expect(tokens.get()).rejects.toThrow(/cannot be reached \(connect ECONNREFUSED/);
  });
});

describe('tokens of other places', () => {
  it('come from a file, read again each time it is needed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-token-'));
    try {
      const file = join(directory, 'token');
      const tokens = source({ 'oauthbearer.token.endpoint.url': pathToFileURL(file).href });
      await expect(tokens.get()).rejects.toThrow(/the file .*token cannot be read \(ENOENT\)/);
      await writeFile(file, 'opaque-1\n');
      expect(await tokens.get()).toEqual({ value: 'opaque-1', expiresAtMs: null });
      await writeFile(file, 'opaque-2\n');
      expect((await tokens.get()).value).toBe('opaque-2');
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('come from an option', async () => {
    const jwt = server.token();
    const { value, expiresAtMs } = await source({ 'oauthbearer.token': jwt }).get();
    expect(value).toBe(jwt);
    expect(expiresAtMs).toBeGreaterThan(now);
    await expect(source({}).get()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('come from a function, and are kept as long as they say', async () => {
    let calls = 0;
    const jwt = source({}, async () => {
      calls++;
      return server.token();
    });
    await jwt.get();
    await jwt.get();
    expect(calls).toBe(1);
    const opaque = source({}, () => `opaque-${++calls}`);
    expect([await opaque.get(), await opaque.get()].map((t) => t.value)).toEqual(['opaque-2', 'opaque-3']);
    const timed = source({}, () => ({ value: `timed-${++calls}`, expiresAtMs: now + 1000 }));
    expect((await timed.get()).value).toBe((await timed.get()).value);
    now += 1000;
    expect((await timed.get()).value).toBe('timed-5');
  });

  it.each<[string, TokenInput, RegExp]>([
    [
      'throws',
      () => Promise.reject(new Error(`denied for ${'eyJhbGciOiJ'}.${'x'.repeat(20)}.${'y'.repeat(20)}`)),
      /function .* failed: denied for \*\*\*$/,
    ],
    ['gives nothing', () => undefined as never, /gave no token/],
    ['gives a number', () => ({ value: 5 }) as never, /gave no token/],
    ['gives a text that is no token', () => 'two words', /characters that a bearer token/],
    ['never answers', () => new Promise<string>(() => {}), /did not answer within 0\.05 s/],
  ])('a function that %s is told', async (_what, own, message) => {
    await expect(source({ 'login.read.timeout.ms': '50' }, own).get()).rejects.toMatchObject({
      code: 'KAFKA_AUTH',
      retryable: false,
      message: expect.stringMatching(message),
    });
  });
});
