import type { PipelineConfig, RegistryConfig, TypedPart } from '../../config/pipeline-config.ts';
import { matchesTopicPattern } from '../../core/topic-pattern.ts';
import { SchemaRegistry } from '../../engine/schema-registry.ts';
import { standsInRegistry } from '../../engine/typed-columns.ts';
import { CheckResults, type Deadline } from './check-result.ts';

/** Told apart from the client's own end: by then it has said what the last fault was. */
const SHARE_OF_TIME = 0.7;

/**
 * The registry as a check asks it: its faults are to be known within the time of the command, not only once the run would
 * have given up.
 */
export function impatient(registry: RegistryConfig | null, { ms }: Deadline): RegistryConfig | null {
  if (registry === null) return null;
  const own = Number(registry.options['schema.registry.deadline.ms']);
  const limit = Math.max(1, Math.floor(ms * SHARE_OF_TIME));
  return {
    ...registry,
    options: { ...registry.options, 'schema.registry.deadline.ms': Math.min(own, limit) },
  };
}

/**
 * Does the Schema Registry answer, and may its subjects be read? Asked also where all tables are there: no record could be
 * read without it. No result where nothing stands in the frame of a registry.
 */
export async function checkRegistry(
  config: PipelineConfig,
  topics: readonly string[],
  deadline: Deadline,
): Promise<CheckResults> {
  const results = new CheckResults();
  const subjects = subjectsOf(config, topics);
  if (config.registry === null || subjects.length === 0) return results;
  const controller = new AbortController();
  const registry = new SchemaRegistry(impatient(config.registry, deadline), controller.signal);
  try {
    await results.try(
      'registry',
      () =>
        deadline.within('REGISTRY_UNREACHABLE', 'the Schema Registry', async () => {
          const missing: string[] = [];
          for (const subject of subjects) if (!(await registry.has(subject))) missing.push(subject);
          return missing;
        }),
      (missing) => foundText(subjects, missing),
    );
  } finally {
    controller.abort();
    await registry.close();
  }
  return results;
}

/** One of each topic and part is enough to see whether somebody answers and lets us read. */
function subjectsOf({ tables }: PipelineConfig, topics: readonly string[]): string[] {
  const subjects = topics.flatMap((topic) => {
    const rule = tables.find((r) => matchesTopicPattern(r.match, topic));
    return (
      [rule?.value, rule?.key]
        .filter((part): part is TypedPart => part !== null && part !== undefined)
        .filter((part) => standsInRegistry(part.format))
        // What stands for the route is in the records only.
        .map(({ subject }) => subject.replaceAll('${topic}', topic))
    );
  });
  return [...new Set(subjects)];
}

function foundText(subjects: readonly string[], missing: readonly string[]): string {
  const known = subjects.filter((subject) => !missing.includes(subject));
  const has = known.length === 0 ? [] : [`has ${known.join(', ')}`];
  // Other names of subjects are usual; where the columns come from one that is missing, its table is the fault.
  const lacks = missing.length === 0 ? [] : [`has no ${missing.join(', ')}`];
  return ['answers', ...has, ...lacks].join(', ');
}
