import net from 'node:net';
import type { BrokerAddress } from './client-options.ts';

/** Hooks of a socket that reads into buffers of ours (Node's `onread`). */
export interface ReadHooks {
  /** Where the next bytes go. */
  nextBuffer(): Uint8Array;
  /** Bytes have come into the buffer given last. False: stop reading until the socket is resumed. */
  onBytes(count: number, buffer: Uint8Array): boolean;
}

/**
 * Opens the byte stream under a Kafka connection. The seam for TLS: `tls.connect` takes the same `onread` hooks and
 * returns a `net.Socket` too.
 */
export type OpenSocket = (address: BrokerAddress, hooks: ReadHooks) => net.Socket;

export const openPlainSocket: OpenSocket = (address, hooks) =>
  net.connect({
    host: address.host,
    port: address.port,
    noDelay: true,
    keepAlive: true,
    onread: {
      buffer: () => hooks.nextBuffer(),
      callback: (count: number, buffer: Uint8Array) => hooks.onBytes(count, buffer),
    },
  });
