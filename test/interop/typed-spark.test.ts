/** Apache Spark reads every type of typed tables back the same. Only in the long form: it is 500 MB to fetch, and slow to start. */
import { execFile } from 'node:child_process';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { sparkRuntime } from '../../scripts/lib/spark.mjs';
import { parseJson64 } from '../../src/core/json64.ts';
import { avscType } from '../support/avro.ts';
import { useKafka } from '../support/kafka.ts';
import type { ForeignValue } from '../support/python.ts';
import { THOROUGH } from '../support/thorough.ts';
import {
  EVERY_TYPE,
  EVERY_TYPE_AVRO,
  EVERY_TYPE_JSON,
  EVERY_TYPE_ROWS,
  everyTypeAvroRow,
} from '../support/typed-values.ts';
import { TypedWorld } from '../support/typed-world.ts';

const SCRIPT = fileURLToPath(new URL('../support/python/spark_every_type.py', import.meta.url));
/** Spark has no type for a time of day that Iceberg's runtime reads. */
const SCHEMA = { ...EVERY_TYPE, fields: EVERY_TYPE.fields.filter(({ name }) => name !== 'clock') };

type Row = Record<string, ForeignValue>;

describe.skipIf(!THOROUGH)('Apache Spark (only with SLUICE_THOROUGH=1)', () => {
  const { bootstrap } = useKafka();
  const worlds: TypedWorld[] = [];
  afterAll(() => Promise.all(worlds.map((world) => world.close())));

  async function tableOf(values: readonly (string | Uint8Array)[], format: object): Promise<string> {
    const world = await TypedWorld.create(bootstrap);
    worlds.push(world);
    await world.send(...values);
    world.make({ value: { ...format, schema: SCHEMA } });
    expect((await world.pipeline.run()).summary).toMatchObject({ quarantined: 0 });
    const catalog = await world.pipeline.openCatalog();
    const table = await catalog.loadTable({ namespace: ['silver'], name: 'events' });
    await catalog.close();
    return table!.metadataLocation;
  }

  it('reads every value as it was sent, from JSON and from Avro', async () => {
    const { python, jars, bin } = await sparkRuntime();
    const type = avscType(EVERY_TYPE_AVRO);
    const locations = [
      await tableOf(EVERY_TYPE_JSON, { format: 'json' }),
      await tableOf(
        EVERY_TYPE_ROWS.map((row) => type.toBuffer(everyTypeAvroRow(row))),
        { format: 'avro', framing: 'plain', writerSchema: EVERY_TYPE_AVRO },
      ),
    ];
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
    const options = { env, maxBuffer: 64 * 1024 * 1024 };
    const { stdout } = await promisify(execFile)(python, [SCRIPT, jars, ...locations], options);
    const tables = parseJson64(stdout.trim().split('\n').at(-1)!) as Row[][];
    for (const rows of tables) expect(rows.map(fromSpark)).toEqual(EVERY_TYPE_ROWS.map(expected));
  });
});

function fromSpark(row: Row): Row {
  const single = row.single === null ? null : Math.fround(Number(row.single));
  const map = row.map === null ? null : (row.map as Row[]).map(({ key, value }) => [key, value]);
  return { ...row, single, map } as Row;
}

/** As Spark's JSON says it. */
function expected({ clock: _, ...row }: Row): Row {
  const safe = (value: ForeignValue): ForeignValue =>
    typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  const d38 = row.d38 === '-1E-10' ? '-0.0000000001' : row.d38;
  return { ...row, d38, local: safe(row.local), instant: safe(row.instant) };
}
