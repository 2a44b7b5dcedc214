/** Types of test-kinds.mjs. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}
export declare const KINDS: Record<
  string,
  { kafka?: boolean; python?: boolean; java?: boolean; registry?: boolean }
>;
export declare function chooseKinds(args: string[]): { kinds: string[]; rest: string[] };
export declare function countTests(report: unknown, exitCode: number): Counts;
export declare function countLine(counts: Counts): string;
