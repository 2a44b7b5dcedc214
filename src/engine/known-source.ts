import type { TopicIncarnation } from '../checkpoint/records.ts';
import type { OffsetMap } from '../core/offset-range.ts';

/** What the checkpoint knows of the log that it came from. */
export interface KnownSource {
  clusterId: string | null;
  topics: TopicIncarnation[];
  /** The next offset to read of every partition. */
  positions: OffsetMap;
}
