/** Iceberg's Java library, the other implementation that tests compare with: pinned jars, run by the Java that is there. */
import { findJava, pinnedJars } from './maven.mjs';
import { SetupError } from './process.mjs';

/**
 * How Java programs over Iceberg can be run here, or why they cannot: tests are skipped with that word, not failed.
 * @param {{ log?: (line: string) => void }} options
 * @returns {Promise<import('./iceberg-java.d.mts').IcebergJava>}
 * @throws {SetupError} when the jars are not the pinned ones
 */
export async function icebergJava({ log = (line) => process.stderr.write(`${line}\n`) } = {}) {
  const java = await findJava();
  if (java === undefined) return { missing: 'Java 17 or newer (`java`) is not installed' };
  try {
    const jars = await pinnedJars('iceberg-java', "Iceberg's Java library (about 100 MB)", log);
    return jars === undefined ? { missing: 'Maven (`mvn`) is not installed' } : { java, jars };
  } catch (error) {
    if (error instanceof SetupError && error.exitCode !== 70) return { missing: error.message };
    throw error;
  }
}
