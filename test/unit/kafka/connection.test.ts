import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { BrokerConnection } from '../../../src/kafka/connection.ts';
import { metadata } from '../../../src/kafka/messages/metadata.ts';
import { WireWriter } from '../../../src/kafka/wire.ts';
import { FakeCluster } from '../../support/fake-cluster.ts';
import { testClient } from '../../support/read-collector.ts';

let server: net.Server | undefined;
const sockets = new Set<net.Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  if (server !== undefined) await new Promise((resolve) => server!.close(resolve));
  server = undefined;
});

/** A server that hands each frame it gets to `answer`. */
async function serve(
  answer: (socket: net.Socket, frame: Buffer, correlationId: number) => void,
): Promise<number> {
  server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    let rest = Buffer.alloc(0);
    socket.on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
        const frame = rest.subarray(4, 4 + rest.readInt32BE(0));
        rest = rest.subarray(4 + frame.length);
        answer(socket, frame, frame.readInt32BE(4));
      }
    });
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return (server.address() as net.AddressInfo).port;
}

const apiKeyOf = (frame: Buffer) => frame.readInt16BE(0);

function response(correlationId: number, write: (w: WireWriter) => void, flexible = true): Buffer {
  const w = new WireWriter().reset(flexible).int32(0).int32(correlationId);
  write(w);
  return w.patchInt32(0, w.length - 4).copy();
}

/** Knows ApiVersions and Metadata v12. */
const versions = (correlationId: number) =>
  response(correlationId, (w) => {
    w.int16(0);
    w.array(
      [
        [3, 0, 12],
        [18, 0, 3],
      ],
      ([key, min, max]) => w.int16(key).int16(min).int16(max).tags(),
    );
    w.int32(0).tags();
  });

const emptyMetadata = (correlationId: number, clusterId = 'c') =>
  response(correlationId, (w) => {
    w.tags().int32(0);
    w.arrayLength(1).int32(1).string('127.0.0.1').int32(1).string(null).tags();
    w.string(clusterId).int32(1).arrayLength(0).tags();
  });

const open = (port: number, more: { requestTimeoutMs?: number; connectTimeoutMs?: number } = {}) =>
  BrokerConnection.open({
    address: { host: '127.0.0.1', port },
    clientId: 'test',
    connectTimeoutMs: 2000,
    requestTimeoutMs: 2000,
    ...more,
  });

describe('BrokerConnection', () => {
  it('keeps several requests in flight and answers each with its own response, however packets are cut', async () => {
    let waiting: Buffer[] = [];
    const port = await serve((socket, frame, id) => {
      if (apiKeyOf(frame) === 18) return void socket.write(versions(id));
      waiting.push(emptyMetadata(id, `cluster-${id}`));
      if (waiting.length < 3) return;
      const all = Buffer.concat(waiting);
      waiting = [];
      // In pieces of seven bytes, each sent when the last is gone.
      const send = (at: number): void => {
        if (at < all.length) socket.write(all.subarray(at, at + 7), () => send(at + 7));
      };
      send(0);
    });
    const connection = await open(port);
    const ask = () => connection.call(metadata, { topics: [] });
    const answers = await Promise.all([ask(), ask(), ask()]);
    expect(answers.map((a) => a.clusterId)).toEqual(['cluster-1', 'cluster-2', 'cluster-3']);
    connection.close();
    expect(connection.usable).toBe(false);
    await expect(ask()).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  });

  it('falls back to version 0 of ApiVersions for an old broker', async () => {
    const port = await serve((socket, frame, id) => {
      const old = (code: number) =>
        response(
          id,
          (w) => {
            w.int16(code);
            w.array(
              [
                [3, 0, 5],
                [18, 0, 0],
              ],
              ([key, min, max]) => w.int16(key).int16(min).int16(max),
            );
          },
          false,
        );
      socket.write(old(frame.readInt16BE(2) === 0 ? 0 : 35));
    });
    const connection = await open(port);
    expect(connection.versionOf(metadata as never)).toBe(5);
    connection.close();
  });

  it('refuses an API of which no common version exists, naming both sides', async () => {
    const port = await serve((socket, _frame, id) => {
      socket.write(
        response(id, (w) => {
          w.int16(0);
          w.array(
            [
              [3, 0, 1],
              [18, 0, 3],
            ],
            ([key, min, max]) => w.int16(key).int16(min).int16(max).tags(),
          );
          w.int32(0).tags();
        }),
      );
    });
    const connection = await open(port);
    await expect(connection.call(metadata, { topics: [] })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(
        /Metadata is needed in a version from 4 to \d+, and the broker has versions 0 to 1/,
      ),
    });
    connection.close();
  });

  it('rejects a correlation id that is another one, and all that waits behind it', async () => {
    const port = await serve((socket, frame, id) => {
      if (apiKeyOf(frame) === 18) socket.write(versions(id));
      else if (id === 2) socket.write(emptyMetadata(99));
    });
    const connection = await open(port);
    const outcomes = await Promise.allSettled([
      connection.call(metadata, { topics: [] }),
      connection.call(metadata, { topics: [] }),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'PROTOCOL_ERROR',
          message: expect.stringMatching(/correlation id 99, 1 was expected/),
        },
      });
    }
    expect(connection.usable).toBe(false);
  });

  it('refuses a frame that nobody asked for', async () => {
    const port = await serve(
      (socket, _frame, id) => void socket.write(Buffer.concat([versions(id), emptyMetadata(1)])),
    );
    const connection = await open(port);
    await expect(connection.call(metadata, { topics: [] })).rejects.toMatchObject({
      code: 'PROTOCOL_ERROR',
      message: expect.stringContaining('nobody asked for'),
    });
  });

  it('refuses a response with bytes left over', async () => {
    const port = await serve((socket, frame, id) => {
      if (apiKeyOf(frame) === 18) return void socket.write(versions(id));
      const good = emptyMetadata(id);
      const long = Buffer.concat([good, Buffer.from([0])]);
      long.writeInt32BE(long.length - 4, 0);
      socket.write(long);
    });
    const connection = await open(port);
    await expect(connection.call(metadata, { topics: [] })).rejects.toThrow(
      /PROTOCOL_ERROR: Metadata v12 .*1 bytes too many/,
    );
    connection.close();
  });

  it.each([
    ['a huge length', Buffer.from('7fffffff00000000', 'hex'), /announces a frame of 2147483647 bytes/],
    ['a negative length', Buffer.from('80000000', 'hex'), /announces a frame of -2147483648 bytes/],
    ['a length too small for a header', Buffer.from('00000003000000', 'hex'), /announces a frame of 3 bytes/],
    ['HTTP', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), /begins with "HTTP": this is a web server/],
    ['SSH', Buffer.from('SSH-2.0-OpenSSH_9.2\r\n'), /begins with "SSH-"/],
  ])('refuses %s', async (_what, bytes, message) => {
    const port = await serve((socket) => void socket.write(bytes));
    await expect(open(port)).rejects.toMatchObject({
      code: 'PROTOCOL_ERROR',
      message: expect.stringMatching(message),
    });
  });

  it('knows TLS when it hears it', async () => {
    const port = await serve((socket) => void socket.write(Buffer.from('15030300020250', 'hex')));
    await expect(open(port)).rejects.toMatchObject({
      code: 'KAFKA_TLS',
      retryable: false,
      message: expect.stringMatching(new RegExp(`broker 127\\.0\\.0\\.1:${port}: .*TLS.*SSL or SASL_SSL`)),
    });
  });

  it('stops waiting for a broker that accepts connections and says nothing', async () => {
    const port = await serve(() => {});
    await expect(open(port, { requestTimeoutMs: 60 })).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
      retryable: true,
      message: expect.stringMatching(/no answer within 60 ms while ApiVersions v3 was awaited/),
    });
  });

  it('bounds an answer that trickles without end, and lets one that is only slow come whole', async () => {
    let size = 0;
    const port = await serve((socket, frame, id) => {
      if (apiKeyOf(frame) === 18) return void socket.write(versions(id));
      const whole = emptyMetadata(id);
      size = whole.length - 4;
      let at = 0;
      const timer = setInterval(() => {
        socket.write(whole.subarray(at, at + 1));
        if (++at === whole.length) clearInterval(timer);
      }, 8);
      socket.on('close', () => clearInterval(timer));
    });
    const ask = async (wholeWithinMs: number) => {
      const connection = await open(port);
      try {
        // No byte comes later than this after the one before it, but the whole takes a multiple of it.
        return await connection.call(metadata, { topics: [] }, { timeoutMs: 250, wholeWithinMs });
      } finally {
        connection.close();
      }
    };
    expect((await ask(60_000)).clusterId).toBe('c');
    await expect(ask(100)).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
      retryable: true,
      message: expect.stringMatching(
        new RegExp(`no whole answer within 100 ms \\(\\d+ of ${size} bytes came\\) while Metadata v12`),
      ),
    });
  });

  it('says how much had come of an answer that stops in the middle', async () => {
    const port = await serve((socket, frame, id) => {
      if (apiKeyOf(frame) === 18) socket.write(versions(id));
      else socket.write(emptyMetadata(id).subarray(0, 20));
    });
    const connection = await open(port);
    const asking = connection.call(metadata, { topics: [] }, { timeoutMs: 60, wholeWithinMs: 60_000 });
    await expect(asking).rejects.toMatchObject({
      message: expect.stringMatching(/no further byte within 60 ms \(16 of \d+ bytes came\)/),
    });
  });

  it('does not blame the broker while we ourselves have no room for its answer', async () => {
    const port = await serve(
      (socket, frame, id) => void socket.write(apiKeyOf(frame) === 18 ? versions(id) : emptyMetadata(id)),
    );
    const connection = await open(port);
    let room = false;
    let refused = () => {};
    const askedForRoom = new Promise<void>((resolve) => {
      refused = resolve;
    });
    const target = {
      bytes: Buffer.alloc(1000),
      reserve: () => {
        if (!room) refused();
        return room;
      },
    };
    const asking = connection.call(
      metadata,
      { topics: [] },
      { target, timeoutMs: 30, wholeWithinMs: 60_000 },
    );
    await askedForRoom;
    // Several of its time-outs pass.
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setTimeout(resolve, 30));
    room = true;
    connection.resumeReading();
    expect((await asking).clusterId).toBe('c');
    connection.close();
  });

  it('rejects what is in flight when the connection is reset or ended', async () => {
    for (const how of ['resetAndDestroy', 'end'] as const) {
      const port = await serve((socket, frame, id) => {
        if (apiKeyOf(frame) === 18) socket.write(versions(id));
        else socket[how]();
      });
      const connection = await open(port);
      await expect(connection.call(metadata, { topics: [] })).rejects.toMatchObject({
        code: 'BROKER_UNREACHABLE',
        outcome: 'unknown',
        message: expect.stringContaining('while Metadata v12 was awaited'),
      });
      server!.close();
    }
  });

  it('names the address that refuses', async () => {
    const port = await serve(() => {});
    await new Promise((resolve) => server!.close(resolve));
    await expect(open(port)).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
      message: expect.stringMatching(new RegExp(`broker 127\\.0\\.0\\.1:${port}: connect ECONNREFUSED`)),
    });
    server = undefined;
  });
});

describe('KafkaCluster.connect', () => {
  it('names every address that it tried, with its error', async () => {
    const web = await serve((socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const connecting = KafkaCluster.connect(
      testClient(`127.0.0.1:1,127.0.0.1:${web}`, { requestDeadlineMs: 100 }),
    );
    await expect(connecting).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
      message: expect.stringMatching(
        /tried 127\.0\.0\.1:1 \(connect ECONNREFUSED.*127\.0\.0\.1:\d+ \(.*web server/,
      ),
    });
  });

  it('does not try a web server again', async () => {
    let connections = 0;
    const web = await serve((socket) => {
      connections++;
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    await expect(KafkaCluster.connect(testClient(`127.0.0.1:${web}`))).rejects.toMatchObject({
      code: 'PROTOCOL_ERROR',
    });
    expect(connections).toBe(1);
  });

  it('asks a broker that hangs once, and others before it for a while', async () => {
    const fake = await FakeCluster.start(3);
    try {
      fake.topic('p', [{}]);
      let now = 0;
      const client = testClient(fake.bootstrap, {
        kafka: { 'kafka.request.timeout.ms': '150' },
        now: () => now,
      });
      const cluster = await KafkaCluster.connect(client);
      const asked: number[] = [];
      fake.onRequest = (broker) => {
        asked.push(broker);
        return broker === 1 ? 'silence' : undefined;
      };
      for (let i = 0; i < 4; i++) await cluster.metadata(['p']);
      expect(asked.filter((broker) => broker === 1)).toEqual([1]);
      // Also later: the one that answered is asked further while its connection lasts.
      now += 31_000;
      for (let i = 0; i < 4; i++) await cluster.metadata(['p']);
      expect(asked.filter((broker) => broker === 1)).toEqual([1]);
      await cluster.close();
    } finally {
      await fake.stop();
    }
  });

  it('asks another broker where one has not heard of a leader for long', async () => {
    const fake = await FakeCluster.start(2);
    try {
      fake.topic('p', [{ leader: 2 }]);
      fake.knowNoLeader.add(1);
      const cluster = await KafkaCluster.connect(testClient(fake.bootstrap));
      const { topics } = await cluster.metadata(['p']);
      expect(topics[0].partitions).toMatchObject([{ partition: 0, leader: 2 }]);
      await cluster.close();
    } finally {
      await fake.stop();
    }
  });

  it('ends what is being tried when it is closed', async () => {
    const port = await serve(
      (socket, frame, id) => void socket.write(apiKeyOf(frame) === 18 ? versions(id) : emptyMetadata(id)),
    );
    const cluster = await KafkaCluster.connect(testClient(`127.0.0.1:${port}`));
    server!.removeAllListeners('connection');
    const asking = cluster.metadata(['gone']);
    await cluster.close();
    await expect(asking).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE', retryable: false });
  });
});
