/**
 * One of several processes that commit to a table of a file catalog: `WAREHOUSE WRITER COUNT`. Each commit sets a property
 * of its own; after COMMIT_UNKNOWN the table is asked. Prints how often it conflicted and how often it did not know.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { FileCatalog } from '../../src/catalog/file-catalog.ts';
import { isSluiceError } from '../../src/errors.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import { ORDERS } from './iceberg-fixture.ts';

const [warehouse, writer, count] = process.argv.slice(2);
const catalog = new FileCatalog(
  { name: writer, warehouse },
  { io: new LocalFileIO(), now: Date.now, randomUuid: randomUUID, sleep: (ms) => sleep(ms) },
);
let conflicts = 0;
let unknown = 0;
for (let n = 0; n < Number(count); ) {
  const key = `done.${writer}.${n}`;
  const table = (await catalog.loadTable(ORDERS))!;
  if (table.metadata.properties[key] !== undefined) {
    n++;
    continue;
  }
  try {
    await catalog.commitTable(table, [], [{ action: 'set-properties', updates: { [key]: 'yes' } }]);
    n++;
  } catch (error) {
    if (isSluiceError(error, 'COMMIT_CONFLICT')) conflicts++;
    else if (isSluiceError(error, 'COMMIT_UNKNOWN')) unknown++;
    else throw error;
  }
}
process.stdout.write(`${JSON.stringify({ conflicts, unknown })}\n`);
