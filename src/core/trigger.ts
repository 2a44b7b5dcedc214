/** When the next micro-batch begins (Spark's triggers). */
export type Trigger = { kind: 'processingTime'; intervalMs: number } | { kind: 'availableNow' } | { kind: 'once' };

/** Spark's default of this product: a batch every 60 seconds (spec 20). */
export const DEFAULT_TRIGGER: Trigger = { kind: 'processingTime', intervalMs: 60_000 };
