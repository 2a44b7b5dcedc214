/**
 * Apache Spark, which the benchmark races against: PySpark from the pinned list, and the pinned jars that it lacks.
 * Runs on any Node.js from 18 on and imports nothing that must be installed.
 */
import { dirname } from 'node:path';
import { findJava, pinnedJars } from './maven.mjs';
import { SetupError } from './process.mjs';
import { pinnedPython } from './python.mjs';

/**
 * Fetches what is not in the cache yet.
 * @param {{ log?: (line: string) => void }} options
 * @returns {Promise<import('./spark.d.mts').SparkRuntime>}
 * @throws {SetupError} when Java, Maven or Python is missing, or something cannot be fetched
 */
export async function sparkRuntime({ log = (line) => process.stderr.write(`${line}\n`) } = {}) {
  const java = await findJava();
  if (java === undefined)
    throw new SetupError('The race against Spark needs Java 17 or newer (`java`), which is not installed.');
  const jars = await pinnedJars(
    'spark',
    "Spark's Kafka source and Avro reader, Iceberg's runtime (about 58 MB)",
    log,
  );
  if (jars === undefined)
    throw new SetupError('The race against Spark needs Maven (`mvn`), which is not installed.');
  const python = await pinnedPython({
    name: 'spark-python',
    lists: ['spark/build-requirements.txt', 'spark/requirements.txt'],
    user: 'The race against Spark needs',
    what: 'PySpark (about 460 MB)',
    flags: ['--no-build-isolation'],
    log,
  });
  return { java, bin: dirname(java), jars, python };
}
