import type { FileIO } from '../storage/file-io.ts';
import type { Writer } from './envelope.ts';

export interface CheckpointOptions {
  io: FileIO;
  /** The directory of the checkpoint. */
  location: string;
  /** The pipeline's name in the configuration; kept beside the id. */
  pipelineName: string;
  owner: Writer;
  now: () => number;
  randomUuid: () => string;
  warn: (message: string, context?: object) => void;
  /** Nothing is written, not even `metadata`. */
  readOnly?: boolean;
  /** Does a process of this id run on this host? Lets a new process take over the lease of one that was killed at once. */
  isProcessAlive?: (pid: number) => boolean;
}
