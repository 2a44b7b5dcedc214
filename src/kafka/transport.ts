import net from 'node:net';
import type { SluiceError } from '../errors.ts';
import type { BrokerAddress } from './client-options.ts';

/** Hooks of a socket that reads into buffers of ours (Node's `onread`). */
export interface ReadHooks {
  /** Where the next bytes go. */
  nextBuffer(): Uint8Array;
  /** Bytes have come into the buffer given last. False: stop reading until the socket is resumed. */
  onBytes(count: number, buffer: Uint8Array): boolean;
}

/** The byte stream under a Kafka connection: plain, or TLS (`security/tls-transport.ts`). */
export interface Transport {
  /** The event of the socket from which on bytes may be sent. */
  readonly readyEvent: 'connect' | 'secureConnect';
  open(address: BrokerAddress, hooks: ReadHooks): net.Socket;
  /** What is wrong, where a socket's error will not pass by itself; null for any other. */
  faultOf(error: Error, address: BrokerAddress): SluiceError | null;
}

export const plainTransport: Transport = {
  readyEvent: 'connect',
  open: (address, hooks) =>
    net.connect({
      host: address.host,
      port: address.port,
      noDelay: true,
      keepAlive: true,
      onread: onread(hooks),
    }),
  faultOf: () => null,
};

export function onread(hooks: ReadHooks): net.OnReadOpts {
  return {
    buffer: () => hooks.nextBuffer(),
    callback: (count: number, buffer: Uint8Array) => hooks.onBytes(count, buffer),
  };
}
