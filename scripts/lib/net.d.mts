/** Types of net.mjs. */
export interface BrokerAnswer {
  clusterId: string | null;
  brokers: { nodeId: number; host: string; port: number }[];
}
export declare function freePort(taken?: number[]): Promise<number>;
export declare function isFree(port: number): Promise<boolean>;
export declare function probe(host: string, port: number, timeoutMs?: number): Promise<BrokerAnswer>;
