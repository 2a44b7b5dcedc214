/**
 * Loaded into a measured process by `--import`: at its end it writes what the kernel counted for it, all threads
 * together, into the file that SLUICE_BENCH_USAGE names.
 */
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env.SLUICE_BENCH_USAGE;
if (isMainThread && file !== undefined) {
  process.on('exit', () => writeFileSync(file, JSON.stringify(process.resourceUsage())));
}
