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

interface Link {
  readonly client: net.Socket;
  readonly broker: net.Socket;
  stalled: boolean;
}

export class TcpProxy {
  readonly port: number;
  target: { host: string; port: number } | null = null;
  /** Each piece from the broker waits this long. */
  delayMs = 0;
  /** Bytes from the broker that came through so far. */
  forwardedBytes = 0;
  /** Connections accepted so far. */
  accepted = 0;
  /** Faults that happened so far. */
  struck = 0;
  private readonly server: net.Server;
  private readonly links = new Set<Link>();
  private fault: { action: ProxyAction; afterBytes: number; left: number; times: number } | null = null;
  private strikes: (() => void)[] = [];

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

  /** Resets every connection now. */
  resetAll(): void {
    for (const link of this.links) this.end(link, 'reset');
  }

  async close(): Promise<void> {
    this.resetAll();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private accept(client: net.Socket): void {
    this.accepted++;
    if (this.target === null) {
      client.destroy();
      return;
    }
    const broker = net.connect(this.target);
    const link: Link = { client, broker, stalled: false };
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
    broker.on('data', (data) => this.forward(link, data));
  }

  private forward(link: Link, data: Buffer): void {
    if (link.stalled) return;
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
    const pass = () => {
      if (!link.client.destroyed) link.client.write(piece, () => action !== null && this.end(link, action));
    };
    if (this.delayMs > 0) setTimeout(pass, this.delayMs);
    else pass();
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
