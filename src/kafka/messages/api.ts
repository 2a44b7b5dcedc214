import type { WireReader, WireWriter } from '../wire.ts';

/**
 * One request and its response. Written by hand after the message definitions of Apache Kafka 4.3
 * (`clients/src/main/resources/common/message/NAME.json`), because importing the client library for a handful of small
 * messages takes 270 to 580 ms of start-up, a quarter of the time that the first commit may take.
 */
export interface Api<Request, Response> {
  readonly name: string;
  readonly key: number;
  /** The versions that `write` and `read` know, both included. */
  readonly min: number;
  readonly max: number;
  /** The first version with compact types and tagged fields (KIP-482). */
  readonly flexibleFrom: number;
  write(w: WireWriter, request: Request, version: number): void;
  read(r: WireReader, version: number): Response;
}
