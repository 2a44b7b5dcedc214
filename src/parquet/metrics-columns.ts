import { type IcebergType, isPrimitive } from '../core/schema.ts';

/**
 * The ids of the first `limit` leaves that have metrics, counted as Iceberg Java counts them (MetricsConfig, property
 * `write.metadata.metrics.max-inferred-column-defaults`): the leaves of a struct before what stands deeper in it; leaves
 * inside lists and maps count, though they have no metrics.
 */
export function metricsFieldIds(type: IcebergType, limit: number): ReadonlySet<number> {
  const ids = new Set<number>();
  const take = (id: number, of: IcebergType): void => {
    if (isPrimitive(of) && ids.size < limit) ids.add(id);
  };
  const visit = (of: IcebergType): void => {
    if (isPrimitive(of) || ids.size >= limit) return;
    if (of.type === 'struct') {
      for (const field of of.fields) take(field.id, field.type);
      for (const field of of.fields) visit(field.type);
    } else if (of.type === 'list') {
      take(of.elementId, of.element);
      visit(of.element);
    } else {
      take(of.keyId, of.key);
      take(of.valueId, of.value);
      visit(of.key);
      visit(of.value);
    }
  };
  visit(type);
  return ids;
}
