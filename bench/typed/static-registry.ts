import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { AVRO_SCHEMA, SCHEMA_ID } from './typed-events.ts';

/** A registry with the one schema of the benchmark, by Confluent's API. */
export interface StaticRegistry {
  url: string;
  close(): Promise<void>;
}

/**
 * Serves the schema on loopback from this process: a pipeline asks for it once, and a whole registry beside the broker
 * would only take time from the two that are measured.
 */
export async function startStaticRegistry(): Promise<StaticRegistry> {
  const server = http.createServer((request, response) => {
    const known = request.url === `/schemas/ids/${SCHEMA_ID}`;
    const body = known ? { schema: AVRO_SCHEMA } : { error_code: 40403, message: 'Schema not found' };
    response.writeHead(known ? 200 : 404, { 'content-type': 'application/vnd.schemaregistry.v1+json' });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
