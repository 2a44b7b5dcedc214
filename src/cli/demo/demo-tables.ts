import { parseTableName } from '../../engine/target-tables.ts';
import { SluiceError } from '../../errors.ts';
import type { LoadedTable } from '../../iceberg/catalog.ts';
import { snapshotOfRef } from '../../iceberg/metadata.ts';
import { bindPartitionSpec, partitionPath } from '../../iceberg/partition.ts';
import { liveFiles } from '../../iceberg/scan.ts';
import type { FileIO } from '../../storage/file-io.ts';
import type { CatalogView } from '../catalog-view.ts';
import type { DemoTable } from './demo-report.ts';

/** The tables as they are now, counted file by file, and with them every quarantine that holds a record. */
export async function readTables(view: CatalogView, names: readonly string[]): Promise<DemoTable[]> {
  const tables: DemoTable[] = [];
  const quarantines: DemoTable[] = [];
  for (const name of names) {
    const table = await view.catalog.loadTable(parseTableName(name));
    if (table === undefined)
      throw new SluiceError('TABLE_NOT_FOUND', `table ${name} is not in the catalog`, {
        context: { table: name },
      });
    tables.push(await countFiles(view.io, name, table));
    const quarantineName = `${name}__quarantine`;
    const quarantine = await view.catalog.loadTable(parseTableName(quarantineName));
    if (quarantine === undefined) continue;
    const counted = await countFiles(view.io, quarantineName, quarantine);
    if (counted.rows > 0n) quarantines.push(counted);
  }
  return [...tables, ...quarantines];
}

async function countFiles(io: FileIO, name: string, { metadata }: LoadedTable): Promise<DemoTable> {
  const counted = { name, rows: 0n, dataFiles: 0, partitions: 0, snapshotId: metadata.currentSnapshotId };
  const snapshot = snapshotOfRef(metadata, 'main');
  if (snapshot === undefined) return counted;
  const specs = new Map(
    metadata.partitionSpecs.map((spec) => [spec.specId, bindPartitionSpec(spec, metadata.schemas)]),
  );
  const partitions = new Set<string>();
  for await (const { file } of liveFiles(io, metadata, snapshot)) {
    if (file.content !== 0) continue;
    counted.rows += file.recordCount;
    counted.dataFiles++;
    partitions.add(partitionPath(specs.get(file.specId) ?? [], file.partition));
  }
  return { ...counted, partitions: partitions.size };
}
