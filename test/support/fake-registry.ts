/** A Schema Registry on loopback that answers from a map, and misbehaves as it is told. */
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';

export interface FakeSchema {
  id: number;
  subject: string;
  version: number;
  schema: string;
  schemaType?: string;
  references?: { name: string; subject: string; version: number }[];
}

/** What one request gets in place of the registry's answer. */
export type Fault = (response: http.ServerResponse, request: http.IncomingMessage) => void;

export class FakeRegistry {
  readonly schemas: FakeSchema[] = [];
  /** `METHOD path` of every request so far. */
  readonly asked: string[] = [];
  readonly headers: http.IncomingHttpHeaders[] = [];
  /** For the next requests, in order. */
  readonly faults: Fault[] = [];
  /** For every request, in place of `faults`. */
  always: Fault | null = null;
  /** Only requests below it are the registry's. */
  basePath = '';
  private readonly server: http.Server;
  private readonly sockets = new Set<Socket>();
  private readonly scheme: string;
  private port = 0;
  private arrivals: { path: string; resolve: () => void }[] = [];

  private constructor(tls?: https.ServerOptions & SecureContextOptions) {
    const answer = (request: http.IncomingMessage, response: http.ServerResponse) =>
      this.answer(request, response);
    this.scheme = tls === undefined ? 'http' : 'https';
    this.server = tls === undefined ? http.createServer(answer) : https.createServer(tls, answer);
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  static async start(schemas: FakeSchema[] = [], tls?: https.ServerOptions): Promise<FakeRegistry> {
    const registry = new FakeRegistry(tls);
    registry.schemas.push(...schemas);
    await registry.up();
    return registry;
  }

  get url(): string {
    return `${this.scheme}://127.0.0.1:${this.port}${this.basePath}`;
  }

  /** How often a path was asked for. */
  count(path: string): number {
    return this.asked.filter((line) => line === `GET ${path}`).length;
  }

  /** Resolves when the next request for the path has come. */
  nextRequest(path: string): Promise<void> {
    return new Promise((resolve) => this.arrivals.push({ path, resolve }));
  }

  /** Listens on the port that it had before. */
  async up(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.server.address() as AddressInfo).port;
  }

  /** Up again with another certificate. */
  async secure(tls: { cert: string; key: string }): Promise<void> {
    (this.server as https.Server).setSecureContext(tls);
    await this.up();
  }

  /** As a port where nobody listens. */
  async down(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }

  private answer(request: http.IncomingMessage, response: http.ServerResponse): void {
    const path = request.url ?? '';
    this.asked.push(`${request.method} ${path}`);
    this.headers.push(request.headers);
    const arrived = this.arrivals.filter((arrival) => arrival.path === path);
    this.arrivals = this.arrivals.filter((arrival) => arrival.path !== path);
    for (const { resolve } of arrived) resolve();
    const fault = this.always ?? this.faults.shift();
    if (fault !== undefined) fault(response, request);
    else if (!path.startsWith(`${this.basePath}/`)) html(404, '<h1>Not Found</h1>')(response, request);
    else this.answerTo(path.slice(this.basePath.length).replace(/\?.*$/, ''))(response, request);
  }

  private answerTo(path: string): Fault {
    const byId = /^\/schemas\/ids\/(-?\d+)$/.exec(path);
    const bySubject = /^\/subjects\/([^/]+)\/versions\/(\d+|latest)$/.exec(path);
    let found: FakeSchema | undefined;
    if (byId !== null) {
      found = this.schemas.find((s) => s.id === Number(byId[1]));
      if (found === undefined) return json(404, { error_code: 40403, message: 'Schema not found' });
      const { schema, schemaType, references } = found;
      return json(200, { schema, schemaType, references });
    }
    if (bySubject === null) return json(404, { error_code: 404, message: 'HTTP 404 Not Found' });
    const versions = this.schemas.filter((s) => s.subject === decodeURIComponent(bySubject[1]));
    if (versions.length === 0) return json(404, { error_code: 40401, message: 'Subject not found' });
    found =
      bySubject[2] === 'latest' ? versions.at(-1) : versions.find((s) => s.version === Number(bySubject[2]));
    if (found === undefined) return json(404, { error_code: 40402, message: 'Version not found' });
    return json(200, found);
  }
}

/** A JSON answer. */
export function json(status: number, body: unknown, headers: http.OutgoingHttpHeaders = {}) {
  return (response: http.ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json', ...headers });
    response.end(JSON.stringify(body));
  };
}

export function html(status: number, body: string): Fault {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' });
    response.end(body);
  };
}
