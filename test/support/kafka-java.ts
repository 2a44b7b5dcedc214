/** Kafka's Java clients, run from the pinned jars of the broker. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kafkaRuntime } from '../../scripts/lib/kafka.mjs';
import { run, SetupError } from '../../scripts/lib/process.mjs';

const PROGRAM = fileURLToPath(new URL('./java/KafkaTraffic.java', import.meta.url));

/** Why they cannot be run here, or undefined where they can. */
export async function kafkaJavaMissing(): Promise<string | undefined> {
  try {
    const { kind } = await kafkaRuntime();
    return kind === 'java' ? undefined : 'Java 17 or newer, or Maven, is not installed';
  } catch (error) {
    // 70: the jars are not the pinned ones. That is a fault, and not something that is missing.
    if (error instanceof SetupError && error.exitCode !== 70) return error.message;
    throw error;
  }
}

/** Runs KafkaTraffic.java; see there for the arguments. */
export async function runKafkaTraffic(...args: string[]): Promise<void> {
  const runtime = await kafkaRuntime();
  if (runtime.kind !== 'java') throw new Error('there is no Java to run Kafka clients with');
  const options = ['-XX:TieredStopAtLevel=1', '-Xmx512m'];
  const { code, stdout, stderr } = await run(runtime.java, [
    ...options,
    '-cp',
    join(runtime.jars, '*'),
    PROGRAM,
    ...args,
  ]);
  if (code !== 0) throw new Error(`Java failed: ${(stdout + stderr).slice(-3000)}`);
}
