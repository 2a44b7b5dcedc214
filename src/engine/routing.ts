import type { TableRule } from '../config/pipeline-config.ts';
import { parseJson64, stringifyJson64 } from '../core/json64.ts';
import { expandTableTemplate, findTableNameCollisions, tableNameOfTopic } from '../core/table-name.ts';
import { matchesTopicPattern } from '../core/topic-pattern.ts';
import { SluiceError } from '../errors.ts';

/** Where the records of one topic go. */
export interface TopicRoute {
  topic: string;
  /** `namespace.name`; the name of the group, with `${route}` in it, where records go to several tables. */
  table: string;
  rule: TableRule;
}

/**
 * The routes of all topics, by the first rule that matches. Throws CONFIG_INVALID where no rule matches a topic, and
 * where two topics would meet in one table by the naming rule (spec 50).
 */
export function routeTopics(topics: readonly string[], rules: readonly TableRule[]): TopicRoute[] {
  const routes = topics.map((topic): TopicRoute => {
    const rule = rules.find((r) => matchesTopicPattern(r.match, topic));
    if (rule === undefined) {
      throw new SluiceError(
        'CONFIG_INVALID',
        `topic ${topic}: no rule under \`tables:\` matches it; add one, for example \`match: "*"\``,
        { context: { topic } },
      );
    }
    const table = expandTableTemplate(rule.table, topic);
    return { topic, table: groupName(table, rule), rule };
  });
  const [collision] = findTableNameCollisions(
    routes.map((r) => ({ topic: r.topic, template: r.rule.table })),
  );
  if (collision !== undefined) {
    throw new SluiceError(
      'CONFIG_INVALID',
      `topics ${collision.topics.join(' and ')} would meet in table ${collision.table}: names are lower-cased and every character outside a-z, 0-9, _ becomes _; give one of them a rule of its own`,
      { context: { ...collision } },
    );
  }
  return routes;
}

/** The quarantine beside a data table (spec 40). */
export function quarantineOf(table: string): string {
  return `${table}__quarantine`;
}

/** Is it the name of a quarantine? */
export function isQuarantine(table: string): boolean {
  return table.endsWith('__quarantine');
}

/** Is it a name that only Sluice itself makes a table of: a quarantine, or what was requeued from one? */
export function isKeptName(table: string): boolean {
  return isQuarantine(table) || table.endsWith('__requeued');
}

/** Where the records of a topic are set aside: beside its table, or, before one of several tables is known, by the pipeline's name. */
export function quarantineOfRoute({ table }: TopicRoute, pipeline: string): string {
  if (!isGroup(table)) return quarantineOf(table);
  const namespace = table.slice(0, table.lastIndexOf('.'));
  return `${namespace}.${quarantineOf(tableNameOfTopic(pipeline))}`;
}

/** Tables that one rule routes to have one account: it needs a name that no table has. */
function groupName(table: string, rule: TableRule): string {
  return rule.route === null || table.includes(ROUTE_PLACEHOLDER) ? table : `${table}_${ROUTE_PLACEHOLDER}`;
}

/** The table of a value of the field that a rule routes by, where it is made on demand. */
export function tableOfRoute(group: string, value: string): string {
  return group.replaceAll(ROUTE_PLACEHOLDER, () => tableNameOfTopic(value));
}

/** Is it the name of the account of several tables? */
export function isGroup(table: string): boolean {
  return table.includes(ROUTE_PLACEHOLDER);
}

const ROUTE_PLACEHOLDER = '${route}';

/** What a rule of an older plan does not say. */
const BEFORE_TYPED = {
  value: null,
  key: null,
  provenance: [],
  evolve: 'none',
  route: null,
} satisfies Partial<TableRule>;

/** The part of the configuration that decides where rows go, as canonical text: kept in `plan/N` (spec 30). */
export function routingText(rules: readonly TableRule[], includeHeaders: boolean): string {
  return stringifyJson64({ version: 1, includeHeaders, tables: rules });
}

/** The way back from `routingText`. Throws PLAN_CONFIG_CHANGED for a text of another version. */
export function parseRoutingText(text: string): { rules: TableRule[]; includeHeaders: boolean } {
  const parsed = parseJson64(text) as { version?: number; includeHeaders?: boolean; tables?: TableRule[] };
  if (parsed.version !== 1 || !Array.isArray(parsed.tables)) {
    throw new SluiceError(
      'PLAN_CONFIG_CHANGED',
      `the planned batch was made under a routing configuration of version ${parsed.version}, this version knows 1; finish the batch with the version that planned it`,
    );
  }
  const rules = parsed.tables.map((rule) => ({ ...BEFORE_TYPED, ...rule }));
  return { rules, includeHeaders: parsed.includeHeaders === true };
}
