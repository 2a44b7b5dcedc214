/** Types of iceberg-java.mjs. */
export type IcebergJava = { java: string; jars: string; missing?: undefined } | { missing: string };
export declare function icebergJava(options?: { log?: (line: string) => void }): Promise<IcebergJava>;
