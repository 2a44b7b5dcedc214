/** Types of spark.mjs. */
export interface SparkRuntime {
  /** The `java` program, and the directory that it lies in. */
  java: string;
  bin: string;
  /** The directory with the jars that PySpark lacks. */
  jars: string;
  /** A Python that has PySpark. */
  python: string;
}
export declare function sparkRuntime(options?: { log?: (line: string) => void }): Promise<SparkRuntime>;
