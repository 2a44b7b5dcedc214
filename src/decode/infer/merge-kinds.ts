import { commonKind, PLAIN, UNKNOWN, type ValueKind } from './value-kind.ts';

/** Two kinds that met at one place and have nothing in common: their text is left. */
export interface KindConflict {
  /** Names joined by dots, `[]` for what a list holds. */
  path: string;
  kinds: readonly [string, string];
}

/** What to do with what a merge meets. */
export interface MergeRules {
  /** May a field of this name be added to the struct at `parent`? */
  allows(parent: string, name: string): boolean;
  /** What two kinds are together that have nothing in common; `first` was there before. */
  conflict(conflict: KindConflict, first: ValueKind): ValueKind;
}

const NO_RULES: MergeRules = { allows: () => true, conflict: () => PLAIN.string };

/** The kind that holds all of both. The first one, where it is a struct, is changed and given back; the second one never is. */
export function mergeKinds(a: ValueKind, b: ValueKind, rules = NO_RULES, path = ''): ValueKind {
  if (b.kind === 'unknown') return a;
  if (b.kind === 'emptyText') return a.kind === 'unknown' ? b : a;
  const start = a.kind === 'unknown' || a.kind === 'emptyText' ? fresh(b) : a;
  if (start.kind === 'struct' && b.kind === 'struct') {
    for (const [name, kind] of b.fields) {
      const known = start.fields.get(name);
      if (known === undefined && !rules.allows(path, name)) continue;
      const at = path === '' ? name : `${path}.${name}`;
      start.fields.set(name, mergeKinds(known ?? UNKNOWN, kind, rules, at));
    }
    return start;
  }
  if (start.kind === 'list' && b.kind === 'list')
    return { kind: 'list', element: mergeKinds(start.element, b.element, rules, `${path}[]`) };
  const common = commonKind(start, b);
  if (common !== undefined) return common;
  return rules.conflict({ path, kinds: [nameOf(start), nameOf(b)] }, start);
}

function nameOf({ kind }: ValueKind): string {
  return kind === 'int' ? 'long' : kind;
}

function fresh(like: ValueKind): ValueKind {
  if (like.kind === 'struct') return { kind: 'struct', fields: new Map() };
  return like.kind === 'list' ? { kind: 'list', element: UNKNOWN } : like;
}
