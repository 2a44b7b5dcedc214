/** The real Schema Registry of the tests (Apicurio's, by Confluent's API), one per test file, over the shared broker. */
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { type RegistryService, registryRuntime, startRegistryService } from '../../scripts/lib/registry.mjs';

export interface SchemaToRegister {
  schema: string;
  schemaType?: 'AVRO' | 'PROTOBUF' | 'JSON';
  references?: { name: string; subject: string; version: number }[];
}

export interface TestRegistry extends RegistryService {
  /** The id under which a schema stands as the next version of a subject. */
  register(subject: string, schema: SchemaToRegister): Promise<number>;
}

/** Why no registry can be run here, or undefined: for `describe.skipIf`. */
export async function registryMissing(): Promise<string | undefined> {
  const runtime = await registryRuntime();
  return 'missing' in runtime ? runtime.missing : undefined;
}

/** Starts a registry whose schemas are in topics of its own. Stop it after the tests. */
export async function startRegistry(bootstrap: string): Promise<TestRegistry> {
  const topic = `sluice-test-registry-${randomBytes(4).toString('hex')}`;
  const service = await startRegistryService({ bootstrap, topic });
  const register = (subject: string, schema: SchemaToRegister) =>
    registerSchema(service.url, subject, schema);
  return Object.assign(service, { register });
}

/** Registers a schema by Confluent's API. */
export async function registerSchema(
  url: string,
  subject: string,
  schema: SchemaToRegister,
): Promise<number> {
  const response = await fetch(`${url}/subjects/${encodeURIComponent(subject)}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify(schema),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${subject} was not registered: ${response.status} ${text}`);
  return (JSON.parse(text) as { id: number }).id;
}

/** A value in the frame of the registry: magic byte 0, the id, the body. */
export function framed(id: number, body: Uint8Array | string): Buffer {
  const head = Buffer.alloc(5);
  head.writeInt32BE(id, 1);
  return Buffer.concat([head, Buffer.from(body)]);
}

export interface GateOptions {
  /** `user:password` that a request must bring. */
  basic?: string;
  bearer?: string;
  tls?: https.ServerOptions;
}

/** A reverse proxy before a registry, which asks for credentials and speaks TLS, as they stand before registries. */
export async function startGate(
  target: string,
  options: GateOptions,
): Promise<{ url: string; close(): Promise<void> }> {
  const { basic, bearer, tls } = options;
  const wanted =
    basic === undefined ? bearer && `Bearer ${bearer}` : `Basic ${Buffer.from(basic).toString('base64')}`;
  const { hostname, port, pathname } = new URL(target);
  const pass = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    if (wanted !== undefined && request.headers.authorization !== wanted) {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error_code: 401, message: 'Unauthorized' }));
      return;
    }
    const headers = { ...request.headers };
    delete headers.authorization;
    const onward = http.request(
      { hostname, port, path: request.url, method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.writeHead(502).end());
    request.pipe(onward);
  };
  const server = tls === undefined ? http.createServer(pass) : https.createServer(tls, pass);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const scheme = tls === undefined ? 'http' : 'https';
  return {
    url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
