/** Free ports on loopback, and a question to a Kafka broker over a raw socket. */
import { connect, createServer } from 'node:net';

/**
 * A TCP port that nobody listens on now. It is chosen below the range from which systems take the ports of outgoing connections,
 * so that none of those can take it before the service that it is for does.
 * @param {number[]} taken ports that must not be chosen
 * @returns {Promise<number>}
 */
export async function freePort(taken = []) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = 12_000 + Math.floor(Math.random() * 18_000);
    if (!taken.includes(port) && (await isFree(port))) return port;
  }
  throw new Error('no free port found on 127.0.0.1 between 12000 and 30000');
}

/** @param {number} port @returns {Promise<boolean>} */
export function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** @param {number} apiKey  @param {number} version  @param {number} correlation  @param {Buffer} body */
function request(apiKey, version, correlation, body) {
  const client = Buffer.from('sluice-probe');
  const frame = Buffer.alloc(4 + 10 + client.length);
  frame.writeInt32BE(frame.length - 4 + body.length, 0);
  frame.writeInt16BE(apiKey, 4);
  frame.writeInt16BE(version, 6);
  frame.writeInt32BE(correlation, 8);
  frame.writeInt16BE(client.length, 12);
  client.copy(frame, 14);
  return Buffer.concat([frame, body]);
}

/**
 * Asks a broker who it is: ApiVersions (0), then Metadata (2) for no topic.
 * @param {string} host
 * @param {number} port
 * @param {number} timeoutMs
 * @returns {Promise<{ clusterId: string | null, brokers: { nodeId: number, host: string, port: number }[] }>} rejects when there
 *   is no broker, when it is no Kafka broker, and when it does not answer in time
 */
export function probe(host, port, timeoutMs = 2_000) {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const socket = connect({ host, port });
    const finish = (error, value) => {
      clearTimeout(timer);
      socket.destroy();
      if (error) reject(error);
      else resolve(value);
    };
    const timer = setTimeout(
      () => finish(new Error(`no answer from ${host}:${port} within ${timeoutMs} ms`)),
      timeoutMs,
    );
    socket.on('error', (error) => finish(error));
    socket.on('close', () => finish(new Error(`${host}:${port} closed the connection`)));
    socket.on('connect', () => socket.write(request(18, 0, 1, Buffer.alloc(0))));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 4) return;
      const size = received.readInt32BE(0);
      if (size < 8 || size > 1_000_000) return finish(new Error(`${host}:${port} is not a Kafka broker`));
      if (received.length < 4 + size) return;
      const body = received.subarray(4, 4 + size);
      received = received.subarray(4 + size);
      try {
        if (body.readInt32BE(0) === 1) {
          if (body.readInt16BE(4) !== 0)
            throw new Error(`${host}:${port} answered with Kafka error ${body.readInt16BE(4)}`);
          socket.write(request(3, 2, 2, Buffer.alloc(4)));
        } else {
          finish(null, readMetadata(body));
        }
      } catch (error) {
        finish(error);
      }
    });
  });
}

/** @param {Buffer} body a Metadata response, version 2, from its correlation id on */
function readMetadata(body) {
  let at = 4;
  const take = (length) => {
    at += length;
    return at - length;
  };
  const int32 = () => body.readInt32BE(take(4));
  const string = () => {
    const length = body.readInt16BE(take(2));
    if (length < 0) return null;
    const start = take(length);
    return body.toString('utf8', start, at);
  };
  const brokers = [];
  for (let left = int32(); left > 0; left--) {
    const broker = { nodeId: int32(), host: string() ?? '', port: int32() };
    string(); // rack
    brokers.push(broker);
  }
  return { clusterId: string(), brokers };
}
