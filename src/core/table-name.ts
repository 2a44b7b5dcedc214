const TOPIC_PLACEHOLDER = '${topic}';

/** The name of a topic's table: lower-cased, every character outside a-z, 0-9 and _ becomes _ (spec 50): `ad-clicks` -> `ad_clicks`. */
export function tableNameOfTopic(topic: string): string {
  return topic.toLowerCase().replace(/[^a-z0-9_]/g, '_');
}

/** A rule's `table` with every `${topic}` filled in. */
export function expandTableTemplate(template: string, topic: string): string {
  return template.replaceAll(TOPIC_PLACEHOLDER, () => tableNameOfTopic(topic));
}

/** Topics that the naming rule sends to one table although they differ. */
export interface TableNameCollision {
  table: string;
  topics: string[];
}

/**
 * The tables in which two topics or more would meet, in the order of their first topic: a configuration error where a
 * name came from `${topic}`, since nobody asked for it. Topics that share a table whose name has no `${topic}` meet on
 * purpose and are no collision.
 */
export function findTableNameCollisions(
  routes: readonly { topic: string; template: string }[],
): TableNameCollision[] {
  const byTable = new Map<string, { topics: string[]; byRule: boolean }>();
  for (const { topic, template } of routes) {
    const table = expandTableTemplate(template, topic);
    const entry = byTable.get(table) ?? { topics: [], byRule: false };
    byTable.set(table, entry);
    if (!entry.topics.includes(topic)) entry.topics.push(topic);
    entry.byRule ||= template.includes(TOPIC_PLACEHOLDER);
  }
  return [...byTable]
    .filter(([, e]) => e.byRule && e.topics.length > 1)
    .map(([table, e]) => ({ table, topics: e.topics }));
}
