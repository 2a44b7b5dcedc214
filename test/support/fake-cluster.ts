/**
 * A Kafka cluster of a few lines, for what a real broker does not do on demand: leaders that move, logs with holes where
 * one wants them, damaged batches, errors, silence. Speaks one version of each API that a reader needs; serves record
 * batches as they are given, by the rules of KIP-74 (the first partition that has data gets one batch at least).
 */
import net from 'node:net';
import { WireReader, WireWriter } from '../../src/kafka/wire.ts';

export interface FakeBatch {
  /** First and last offset; whatever the bytes say. */
  readonly first: bigint;
  readonly last: bigint;
  readonly bytes: Uint8Array;
}

export interface FakePartition {
  batches: FakeBatch[];
  logStart: bigint;
  highWatermark: bigint;
  /** Default: the high watermark. */
  lastStable?: bigint;
  /** -1: the partition has none. */
  leader: number;
  leaderEpoch: number;
  /** `lastOffset` is that of the abort marker; a transaction that ends before the offset asked for is not listed. */
  aborted?: { producerId: bigint; firstOffset: bigint; lastOffset: bigint }[];
  /** What OffsetForLeaderEpoch answers. Default: the epoch asked for, up to the high watermark. */
  epochEnd?: (epoch: number) => { epoch: number; endOffset: bigint };
}

export interface FakeTopic {
  id: string;
  partitions: FakePartition[];
}

export interface FetchAsk {
  readonly broker: number;
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly maxBytes: number;
  readonly leaderEpoch: number;
  /** The rack that the reader names; empty for none. */
  readonly rack: string;
}

/** Instead of the answer of the log: an error code, records of its own, a replica to go to, or the whole connection cut. */
export type FetchOverride =
  | { errorCode: number }
  | { records: Uint8Array }
  | { preferredReadReplica: number }
  | 'cut'
  | undefined;

const API = { fetch: 1, listOffsets: 2, metadata: 3, apiVersions: 18, epochs: 23 } as const;

export class FakeCluster {
  readonly clusterId = 'fake-cluster';
  readonly topics = new Map<string, FakeTopic>();
  readonly brokers: FakeBroker[] = [];
  /** 12 names topics, 13 and later bear topic ids. */
  fetchVersion = 13;
  /** Called for each partition of each Fetch. */
  onFetch: (ask: FetchAsk) => FetchOverride = () => undefined;
  /** Called for each request; a number is slept before the answer, `cut` ends the connection. */
  onRequest: (broker: number, apiKey: number) => 'cut' | 'silence' | undefined = () => undefined;
  /** The error of ListOffsets for a partition; 0 for none. */
  onListOffsets: (topic: string, partition: number) => number = () => 0;
  /** Partition order of each Fetch, as the broker saw it. */
  readonly fetches: FetchAsk[][] = [];
  /** The next Fetch of a broker is answered empty and with this throttle time, as Kafka does on a quota violation. */
  throttleNextMs = 0;
  /** Brokers that say of every partition that it has no leader. */
  readonly knowNoLeader = new Set<number>();

  static async start(brokers = 1): Promise<FakeCluster> {
    const cluster = new FakeCluster();
    for (let id = 1; id <= brokers; id++) cluster.brokers.push(await FakeBroker.listen(cluster, id));
    return cluster;
  }

  get bootstrap(): string {
    return this.brokers.map((b) => `127.0.0.1:${b.port}`).join(',');
  }

  /** A topic with one log per partition, led by broker 1. */
  topic(name: string, partitions: Partial<FakePartition>[], id = topicId(name)): FakeTopic {
    const topic: FakeTopic = {
      id,
      partitions: partitions.map((p) => {
        const batches = p.batches ?? [];
        const end = p.highWatermark ?? (batches.at(-1)?.last ?? -1n) + 1n;
        return {
          logStart: batches[0]?.first ?? 0n,
          leader: 1,
          leaderEpoch: 0,
          ...p,
          batches,
          highWatermark: end,
        };
      }),
    };
    this.topics.set(name, topic);
    return topic;
  }

  async stop(): Promise<void> {
    await Promise.all(this.brokers.map((b) => b.stop()));
  }
}

/** A topic id that is the same for the same text. */
export function topicId(text: string): string {
  const bytes = Buffer.alloc(16, 7);
  bytes.write(text.slice(0, 15), 1);
  return bytes.toString('base64url');
}

export class FakeBroker {
  readonly id: number;
  port = 0;
  private readonly cluster: FakeCluster;
  private readonly server = net.createServer((socket) => this.serve(socket));
  private readonly sockets = new Set<net.Socket>();

  private constructor(cluster: FakeCluster, id: number) {
    this.cluster = cluster;
    this.id = id;
  }

  static async listen(cluster: FakeCluster, id: number): Promise<FakeBroker> {
    const broker = new FakeBroker(cluster, id);
    await new Promise<void>((resolve) => broker.server.listen(0, '127.0.0.1', resolve));
    broker.port = (broker.server.address() as net.AddressInfo).port;
    return broker;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private serve(socket: net.Socket): void {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => {});
    let rest = Buffer.alloc(0);
    socket.on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
        const frame = rest.subarray(4, 4 + rest.readInt32BE(0));
        rest = rest.subarray(4 + frame.length);
        this.answer(socket, frame);
      }
    });
  }

  private answer(socket: net.Socket, frame: Buffer): void {
    const r = new WireReader(frame, 0, frame.length, 'request');
    const apiKey = r.int16();
    const version = r.int16();
    const correlationId = r.int32();
    r.nullableString();
    const fault = this.cluster.onRequest(this.id, apiKey);
    if (fault === 'silence') return;
    if (fault === 'cut') return void socket.destroy();
    const w = new WireWriter().reset(false).int32(0).int32(correlationId);
    w.flexible = apiKey !== API.listOffsets || version >= 6;
    r.flexible = w.flexible;
    if (r.flexible) r.tags();
    if (apiKey !== API.apiVersions) w.tags();
    if (!this.write(apiKey, r, w)) return void socket.destroy();
    w.patchInt32(0, w.length - 4);
    socket.write(w.copy());
  }

  private write(apiKey: number, r: WireReader, w: WireWriter): boolean {
    switch (apiKey) {
      case API.apiVersions:
        this.apiVersions(w);
        return true;
      case API.metadata:
        this.metadata(r, w);
        return true;
      case API.listOffsets:
        this.listOffsets(r, w);
        return true;
      case API.epochs:
        this.epochs(r, w);
        return true;
      case API.fetch:
        return this.fetch(r, w);
      default:
        return false;
    }
  }

  private apiVersions(w: WireWriter): void {
    const versions = [
      [API.fetch, 12, this.cluster.fetchVersion],
      [API.listOffsets, 7, 7],
      [API.metadata, 12, 12],
      [API.apiVersions, 0, 3],
      [API.epochs, 4, 4],
    ];
    w.int16(0);
    w.array(versions, ([key, min, max]) => w.int16(key).int16(min).int16(max).tags());
    w.int32(0).tags();
  }

  private metadata(r: WireReader, w: WireWriter): void {
    const asked = r.array(() => {
      r.uuid();
      const name = r.string();
      r.tags();
      return name;
    });
    w.int32(0);
    w.array(this.cluster.brokers, (b) => w.int32(b.id).string('127.0.0.1').int32(b.port).string(null).tags());
    w.string(this.cluster.clusterId).int32(1);
    w.array(asked, (name) => {
      const topic = this.cluster.topics.get(name);
      w.int16(topic === undefined ? 3 : 0).string(name);
      w.uuid(topic?.id ?? null).boolean(false);
      w.array(topic?.partitions ?? [], (p) => {
        const index = topic!.partitions.indexOf(p);
        const leader = this.cluster.knowNoLeader.has(this.id) ? -1 : p.leader;
        w.int16(leader < 0 ? 5 : 0)
          .int32(index)
          .int32(leader)
          .int32(p.leaderEpoch);
        if (leader < 0) w.arrayLength(1).int32(9).arrayLength(0).arrayLength(1).int32(9).tags();
        else w.arrayLength(1).int32(p.leader).arrayLength(1).int32(p.leader).arrayLength(0).tags();
      });
      w.int32(0).tags();
    });
    w.tags();
  }

  private listOffsets(r: WireReader, w: WireWriter): void {
    r.int32();
    const isolation = r.int8();
    const topics = r.array(() => {
      const topic = r.string();
      const partitions = r.array(() => {
        const asked = { partition: r.int32(), epoch: r.int32(), timestamp: r.int64() };
        r.tags();
        return asked;
      });
      r.tags();
      return { topic, partitions };
    });
    w.int32(0);
    w.array(topics, ({ topic, partitions }) => {
      w.string(topic);
      w.array(partitions, ({ partition, timestamp }) => {
        const log = this.cluster.topics.get(topic)?.partitions[partition];
        let code = this.cluster.onListOffsets(topic, partition);
        if (log === undefined) code = 3;
        else if (log.leader !== this.id) code = 6;
        const end = isolation === 1 ? (log?.lastStable ?? log?.highWatermark) : log?.highWatermark;
        const offset = timestamp === -1n ? end : log?.logStart;
        w.int32(partition).int16(code);
        w.int64(timestamp >= 0n ? 1_784_000_000_000n : -1n).int64(code === 0 ? offset! : -1n);
        w.int32(log?.leaderEpoch ?? -1).tags();
      });
      w.tags();
    });
    w.tags();
  }

  private epochs(r: WireReader, w: WireWriter): void {
    r.int32();
    const topics = r.array(() => {
      const topic = r.string();
      const partitions = r.array(() => {
        const asked = { partition: r.int32(), current: r.int32(), epoch: r.int32() };
        r.tags();
        return asked;
      });
      r.tags();
      return { topic, partitions };
    });
    w.int32(0);
    w.array(topics, ({ topic, partitions }) => {
      w.string(topic);
      w.array(partitions, ({ partition, epoch }) => {
        const log = this.cluster.topics.get(topic)!.partitions[partition];
        const end = log.epochEnd?.(epoch) ?? { epoch, endOffset: log.highWatermark };
        w.int16(0).int32(partition).int32(end.epoch).int64(end.endOffset).tags();
      });
      w.tags();
    });
    w.tags();
  }

  private fetch(r: WireReader, w: WireWriter): boolean {
    const byId = this.cluster.fetchVersion >= 13;
    r.int32(); // replica id
    r.int32(); // max wait
    r.int32(); // min bytes
    const maxBytes = r.int32();
    const isolation = r.int8();
    if (r.int32() !== 0 || r.int32() !== -1) r.fail('a fetch session, which a restart of a broker loses');
    const topics = r.array(() => {
      const key = byId ? r.uuid()! : r.string();
      const partitions = r.array(() => {
        const partition = r.int32();
        const leaderEpoch = r.int32();
        const offset = r.int64();
        r.skip(12);
        const max = r.int32();
        r.tags();
        return { partition, leaderEpoch, offset, maxBytes: max };
      });
      r.tags();
      return { key, partitions };
    });
    r.array(() => r.fail('forgotten topics, which only a session has'));
    const rack = r.string();
    const state = { left: maxBytes, served: false, cut: false };
    const asks: FetchAsk[] = [];
    const throttle = this.cluster.throttleNextMs;
    this.cluster.throttleNextMs = 0;
    w.int32(throttle).int16(0).int32(0);
    w.array(throttle > 0 ? [] : topics, ({ key, partitions }) => {
      const name = byId ? [...this.cluster.topics].find(([, t]) => t.id === key)?.[0] : key;
      if (byId) w.uuid(key);
      else w.string(key);
      w.array(partitions, (p) => {
        const ask: FetchAsk = { broker: this.id, topic: name ?? '?', rack, ...p };
        asks.push(ask);
        this.fetchOne(ask, isolation, state, w);
      });
      w.tags();
    });
    w.tags();
    this.cluster.fetches.push(asks);
    return !state.cut;
  }

  private fetchOne(
    ask: FetchAsk,
    isolation: number,
    state: { left: number; served: boolean; cut: boolean },
    w: WireWriter,
  ): void {
    const topic = this.cluster.topics.get(ask.topic);
    const log = topic?.partitions[ask.partition];
    const override = this.cluster.onFetch(ask);
    if (override === 'cut') state.cut = true;
    let code = 0;
    let records: Uint8Array = Buffer.alloc(0);
    let replica = -1;
    const lastStable = log?.lastStable ?? log?.highWatermark ?? 0n;
    const visible = isolation === 1 ? lastStable : (log?.highWatermark ?? 0n);
    const follower = log !== undefined && log.leader !== this.id && ask.leaderEpoch >= 0;
    if (typeof override === 'object' && 'errorCode' in override) code = override.errorCode;
    else if (log === undefined) code = this.cluster.fetchVersion >= 13 ? 100 : 3;
    else if (follower) code = 6;
    else if (ask.offset < log.logStart || ask.offset > log.highWatermark) code = 1;
    else if (typeof override === 'object' && 'preferredReadReplica' in override)
      replica = override.preferredReadReplica;
    else if (typeof override === 'object') records = override.records;
    else records = serve(log, ask, visible, state);
    w.int32(ask.partition)
      .int16(code)
      .int64(log?.highWatermark ?? -1n)
      .int64(lastStable)
      .int64(log?.logStart ?? -1n);
    const aborted = log?.aborted?.filter((a) => a.lastOffset >= ask.offset) ?? null;
    w.array(aborted, (a) => w.int64(a.producerId).int64(a.firstOffset).tags());
    w.int32(replica);
    w.bytesLength(records.length).raw(records).tags();
  }
}

function serve(
  log: FakePartition,
  ask: FetchAsk,
  visible: bigint,
  state: { left: number; served: boolean },
): Uint8Array {
  const parts: Uint8Array[] = [];
  let size = 0;
  const limit = Math.min(ask.maxBytes, state.left);
  for (const batch of log.batches) {
    if (batch.last < ask.offset || batch.first >= visible) continue;
    const first = !state.served && parts.length === 0;
    if (size + batch.bytes.length > limit && !first) break;
    parts.push(batch.bytes);
    size += batch.bytes.length;
  }
  state.left -= size;
  if (size > 0) state.served = true;
  return Buffer.concat(parts);
}
