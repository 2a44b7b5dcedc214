import { readFileSync } from 'node:fs';

/** The versions of what ran against Sluice, as pinned under services/spark. */
export interface SparkVersions {
  pyspark: string;
  icebergRuntime: string;
  kafkaSource: string;
  avro: string;
}

export function pinnedVersions(): SparkVersions {
  const read = (name: string): string =>
    readFileSync(new URL(`../../services/spark/${name}`, import.meta.url), 'utf8');
  const jars = read('jars.sha256');
  return {
    pyspark: /^pyspark==(\S+)/m.exec(read('requirements.txt'))?.[1] ?? 'unknown',
    icebergRuntime: /(iceberg-spark-runtime-\S+)\.jar/.exec(jars)?.[1] ?? 'unknown',
    kafkaSource: /(spark-sql-kafka-\S+)\.jar/.exec(jars)?.[1] ?? 'unknown',
    avro: /(spark-avro_\S+)\.jar/.exec(jars)?.[1] ?? 'unknown',
  };
}
