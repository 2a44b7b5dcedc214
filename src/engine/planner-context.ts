import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { FileIO } from '../storage/file-io.ts';
import type { Failpoints } from './failpoint.ts';
import type { EngineHost } from './host.ts';
import type { SchemaRegistry } from './schema-registry.ts';

/** What planning a batch takes from the run. */
export interface BatchPlannerContext {
  config: PipelineConfig;
  host: EngineHost;
  checkpoint: Checkpoint;
  catalog: Catalog;
  io: FileIO;
  cluster: KafkaCluster;
  registry: SchemaRegistry;
  failpoints: Failpoints;
  writerId: string;
  sleep(ms: number): Promise<void>;
}
