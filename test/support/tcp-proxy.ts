/**
 * A TCP proxy in front of a broker, which changes no byte. A Kafka client connects to the addresses of the metadata, so
 * the broker must advertise the proxy's port: `startBroker({ advertisedPort: proxy.port })`, and then
 * `proxy.target = { host: broker.host, port: broker.port }`; the broker's own `bootstrap` leads past the proxy only until
 * the first metadata.
 */
import net from 'node:net';

export type ProxyAction =
  /** RST on both sides. */
  | 'reset'
  /** FIN on both sides. */
  | 'cut'
  /** Nothing more comes through, but the connection stays. */
  | 'stall';

export interface ProxyFault {
  readonly action: ProxyAction;
  /** Bytes from the broker that still come through, over all connections together, before the action. */
  readonly afterBytes: number;
  /** How many connections it happens to; each of them counts its bytes anew. Default 1. */
  readonly times?: number;
}

/** Bytes from the broker come in pieces of `bytes`, each `everyMs` after the one before; 0: as fast as they go. */
export interface Trickle {
  readonly bytes: number;
  readonly everyMs: number;
}

interface Link {
  readonly client: net.Socket;
  readonly broker: net.Socket;
  stalled: boolean;
  /** Of a trickle, a delay or a hold: what waits for its turn, in order. */
  readonly waiting: Buffer[];
  pumping: boolean;
}

export class TcpProxy {
  readonly port: number;
  target: { host: string; port: number } | null = null;
  /** Each piece from the broker waits this long, after the one before it. */
  delayMs = 0;
  trickle: Trickle | null = null;
  /** Bytes from the broker that came through so far. */
  forwardedBytes = 0;
  /** Connections accepted so far. */
  accepted = 0;
  /** Faults that happened so far. */
  struck = 0;
  private server: net.Server;
  private readonly links = new Set<Link>();
  private fault: { action: ProxyAction; afterBytes: number; left: number; times: number } | null = null;
  private strikes: (() => void)[] = [];
  private hold: { left: number; held: boolean; reached: () => void } | null = null;

  private constructor(server: net.Server, port: number) {
    this.server = server;
    this.port = port;
    server.on('connection', (client) => this.accept(client));
  }

  static async listen(): Promise<TcpProxy> {
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new TcpProxy(server, (server.address() as net.AddressInfo).port);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Sets the next fault; null for none. */
  arm(fault: ProxyFault | null): void {
    this.fault = fault === null ? null : { ...fault, left: fault.afterBytes, times: fault.times ?? 1 };
  }

  /** Resolves when the next fault has happened. */
  nextStrike(): Promise<void> {
    return new Promise((resolve) => this.strikes.push(resolve));
  }

  /** Lets `bytes` more from the broker through, over all connections, and then nothing until `release`. Resolves when it holds. */
  holdAfter(bytes: number): Promise<void> {
    return new Promise((resolve) => {
      this.hold = { left: bytes, held: false, reached: resolve };
    });
  }

  /** What was held back comes through, on connections that are still there. */
  release(): void {
    this.hold = null;
    for (const link of this.links) this.pump(link);
  }

  /** No fault, no delay, no hold any more. */
  heal(): void {
    this.arm(null);
    this.delayMs = 0;
    this.trickle = null;
    this.release();
  }

  /** Resets every connection now. */
  resetAll(): void {
    for (const link of this.links) this.end(link, 'reset');
  }

  /** As a port where nobody listens: connections break, new ones are refused. */
  async down(): Promise<void> {
    this.resetAll();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }

  /** Listens again on its port. */
  async up(): Promise<void> {
    if (this.server.listening) return;
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(this.port, '127.0.0.1', resolve);
    });
  }

  async close(): Promise<void> {
    await this.down();
  }

  private accept(client: net.Socket): void {
    this.accepted++;
    if (this.target === null) {
      client.destroy();
      return;
    }
    client.setNoDelay(true);
    const broker = net.connect(this.target);
    const link: Link = { client, broker, stalled: false, waiting: [], pumping: false };
    this.links.add(link);
    for (const [one, other] of [
      [client, broker],
      [broker, client],
    ]) {
      one.on('error', () => other.destroy());
      one.on('close', () => {
        other.end();
        this.links.delete(link);
      });
    }
    client.on('data', (data) => broker.write(data));
    broker.on('data', (data) => {
      link.waiting.push(data);
      this.pump(link);
    });
  }

  /** Takes what waits, piece by piece, through holds, delays and faults. One at a time for each link, so that order is kept. */
  private async pump(link: Link): Promise<void> {
    if (link.pumping) return;
    link.pumping = true;
    while (link.waiting.length > 0) {
      const { trickle, delayMs } = this;
      const waitMs = Math.max(trickle?.everyMs ?? 0, delayMs);
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      else if (trickle !== null) await new Promise((resolve) => setImmediate(resolve));
      if (this.hold?.held || link.stalled) break;
      this.forward(link, this.nextPiece(link, trickle?.bytes ?? Number.POSITIVE_INFINITY));
    }
    link.pumping = false;
  }

  /** The next bytes that wait, at most `limit`, and no more than a hold lets through. */
  private nextPiece(link: Link, limit: number): Buffer {
    const [data] = link.waiting;
    const { hold } = this;
    const size = Math.min(data.length, limit, hold?.left ?? data.length);
    if (size === data.length) link.waiting.shift();
    else link.waiting[0] = data.subarray(size);
    if (hold !== null) {
      hold.left -= size;
      if (hold.left === 0) {
        hold.held = true;
        hold.reached();
      }
    }
    return data.subarray(0, size);
  }

  private forward(link: Link, data: Buffer): void {
    const { fault } = this;
    let piece = data;
    let action: ProxyAction | null = null;
    if (fault !== null) {
      if (data.length >= fault.left) {
        piece = data.subarray(0, fault.left);
        action = fault.action;
        fault.left = fault.afterBytes;
        if (--fault.times <= 0) this.fault = null;
      } else fault.left -= data.length;
    }
    this.forwardedBytes += piece.length;
    if (!link.client.destroyed)
      link.client.write(piece, () => {
        if (action !== null) this.end(link, action);
      });
    if (action !== null) link.stalled = true;
  }

  private end(link: Link, action: ProxyAction): void {
    if (action === 'reset') {
      link.client.resetAndDestroy();
      link.broker.resetAndDestroy();
    } else if (action === 'cut') {
      link.client.end();
      link.broker.end();
    }
    this.struck++;
    for (const resolve of this.strikes.splice(0)) resolve();
  }
}
