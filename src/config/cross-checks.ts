/** Checks between options: what each of them may be and they may not be together. */
import { tableNameOfTopic } from '../core/table-name.ts';
import { matchesTopicPattern } from '../core/topic-pattern.ts';
import { shown } from './check.ts';
import { checkKafka } from './cross-checks-kafka.ts';
import { checkSource } from './cross-checks-source.ts';
import { checkTyped } from './cross-checks-typed.ts';
import type { Fault, Path, Report } from './fault.ts';
import { formatPath } from './fault.ts';
import { parsePartitionField } from './partition-field.ts';
import { locate } from './source-tree.ts';
import { knownColumns } from './typed-column-classes.ts';
import type { Values } from './values.ts';

/** Adds contradictions to the faults of the tree, and lints between options to `warnings`. Looks only at options that are right by themselves. */
export function crossCheck(values: Values, warnings: Fault[]): void {
  const { tree } = values;
  const fault: Report = (code, path, message) => {
    tree.faults.push({ code, message, ...locate(tree, path, 'value'), path: formatPath(path) });
  };
  const warn: Report = (code, path, message) => {
    warnings.push({ code, message, ...locate(tree, path, 'value'), path: formatPath(path) });
  };
  checkTrigger(values, fault);
  checkSource(values, fault, warn);
  checkPlaces(values, fault);
  checkRegistryAddresses(values, fault);
  values.rules().forEach((_, index) => {
    checkRule(values, index, fault, warn);
    checkTyped(values, index, fault);
  });
  checkRoutes(values, fault, warn);
  checkKafka(values, fault, warn);
}

function checkTrigger(values: Values, fault: Report): void {
  const given = ['processingTime', 'availableNow', 'once'].filter((key) => values.has('trigger', key));
  for (const key of given.slice(1))
    fault('CONTRADICTION', ['trigger', key], `${given[0]} is given too; a pipeline has one trigger`);
}

/** The text is not shown: it may hold a password. */
function checkRegistryAddresses(values: Values, fault: Report): void {
  const addresses = values.get<string>('registry', 'schema.registry.url')?.split(',') ?? [];
  const wrong = addresses.findIndex((address) => !/^\s*https?:\/\/[^/]/i.test(address));
  if (wrong < 0) return;
  const which = addresses.length === 1 ? '' : `address ${wrong + 1}: `;
  fault(
    'WRONG_VALUE',
    ['registry', 'schema.registry.url'],
    `${which}expected http://host:port or https://host:port, with the base path where the registry has one`,
  );
}

/** Locations: this version knows the local file system. */
function checkPlaces(values: Values, fault: Report): void {
  const places: [Path, string | undefined][] = [
    [['checkpointLocation'], values.get<string>('', 'checkpointLocation')],
    [['catalog', 'warehouse'], values.get<string>('catalog', 'warehouse')],
  ];
  for (const [path, location] of places) {
    const scheme =
      location === undefined ? undefined : /^([a-z][a-z0-9+.-]*):/i.exec(location)?.[1].toLowerCase();
    if (scheme !== undefined && scheme !== 'file')
      fault('UNSUPPORTED', path, `storage ${scheme}: is not in this version; give a local directory`);
  }
  checkCatalogUri(values, fault);
  const [checkpoint, warehouse] = places.map(([, location]) => location?.replace(/\/+$/, ''));
  if (checkpoint !== undefined && checkpoint === warehouse) {
    fault(
      'CONTRADICTION',
      ['checkpointLocation'],
      'the warehouse is the same directory; give the checkpoint one of its own',
    );
  }
}

/** A file catalog is its warehouse; all others are somewhere. */
function checkCatalogUri(values: Values, fault: Report): void {
  const type = values.get<string>('catalog', 'type');
  const path = ['catalog', 'uri'];
  if (type === 'file') {
    if (values.has('catalog', 'uri'))
      fault('CONTRADICTION', path, 'a file catalog is its warehouse and has no uri; leave it out');
    return;
  }
  const uri = values.get<string>('catalog', 'uri');
  if (type !== undefined && !values.has('catalog', 'uri'))
    fault('MISSING_OPTION', path, 'this is required by type sqlite: the database file of the catalog');
  const scheme = uri === undefined ? undefined : /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1].toLowerCase();
  if (scheme !== undefined && scheme !== 'file' && scheme !== 'sqlite')
    fault(
      'UNSUPPORTED',
      path,
      `a catalog at ${scheme}: is not in this version; give the path of a SQLite file`,
    );
}

function checkRule(values: Values, index: number, fault: Report, warn: Report): void {
  const at = (key: string) => values.path('tables[]', key, index);
  const zone = values.get<string>('tables[]', 'timeZone', index);
  if (zone !== undefined && !isTimeZone(zone))
    fault(
      'WRONG_VALUE',
      at('timeZone'),
      `expected an IANA time zone such as UTC or Asia/Seoul, found ${shown(zone)}`,
    );
  const table = values.get<string>('tables[]', 'table', index);
  if (table !== undefined && /__(quarantine|requeued)$/.test(table))
    fault('WRONG_VALUE', at('table'), `${shown(table)} is a name for what is set aside; give another one`);
  const keep = values.get<number>('tables[]', 'keepSnapshots', index);
  const max = values.get<number>('tables[]', 'maxSnapshots', index);
  if (keep !== undefined && max !== undefined && max < keep)
    fault('CONTRADICTION', at('maxSnapshots'), `keepSnapshots asks for ${keep}; give at least as many`);
  const columns = knownColumns(values, index);
  const seen = new Set<string>();
  for (const text of values.get<string[]>('tables[]', 'partitionBy', index) ?? []) {
    const field = parsePartitionField(text, columns);
    if ('wrong' in field) {
      fault('WRONG_VALUE', at('partitionBy'), `${shown(text)}: ${field.wrong}`);
      continue;
    }
    // Two buckets of one column would have one name in the table.
    const name = `${field.transform} of ${field.column}`;
    if (seen.has(name)) fault('CONTRADICTION', at('partitionBy'), `${name} is there twice`);
    seen.add(name);
  }
  const codec = values.get<string>('tables[]', 'codec', index);
  const level = values.get<number>('tables[]', 'codecLevel', index);
  if (codec === 'gzip' && level !== undefined && level > 9)
    fault('WRONG_VALUE', at('codecLevel'), `gzip knows 1 to 9, found ${level}`);
  if (
    codec !== undefined &&
    codec !== 'zstd' &&
    codec !== 'gzip' &&
    values.has('tables[]', 'codecLevel', index)
  ) {
    warn('NO_EFFECT', at('codecLevel'), `no effect: ${codec} has no levels`);
  }
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The topics that the file names must each have a rule, and tables of their own. */
function checkRoutes(values: Values, fault: Report, warn: Report): void {
  const rules = values.rules().map((_, index) => ({
    match: values.get<string>('tables[]', 'match', index),
    table: values.get<string>('tables[]', 'table', index),
  }));
  const catchAll = rules.findIndex((rule) => rule.match === '*');
  if (catchAll >= 0 && catchAll < rules.length - 1) {
    warn(
      'LINT',
      ['tables', catchAll + 1],
      `this rule is never reached: tables[${catchAll}] matches every topic`,
    );
  }
  for (const [index, { match }] of rules.entries()) {
    const first = rules.findIndex((rule) => rule.match === match);
    if (match !== undefined && first < index && match !== '*')
      warn('LINT', ['tables', index], `this rule is never reached: tables[${first}] matches ${match} too`);
  }
  const topics = values.get<string[]>('source', 'subscribe') ?? [
    ...(values.get<Map<string, number[]>>('source', 'assign')?.keys() ?? []),
  ];
  const tables = new Map<string, string>();
  for (const topic of new Set(topics)) {
    const index = rules.findIndex(
      (rule) => rule.match !== undefined && matchesTopicPattern(rule.match, topic),
    );
    // A rule that is wrong by itself could have been the one.
    if (index < 0 && rules.every((rule) => rule.match !== undefined)) {
      fault(
        'CONTRADICTION',
        ['tables'],
        `no rule matches the topic ${topic}; add one, for example match: "*"`,
      );
    }
    const template = rules[index]?.table;
    if (template === undefined) continue;
    const table = template.replaceAll('${topic}', tableNameOfTopic(topic));
    const other = tables.get(table);
    if (other !== undefined && template.includes('${topic}')) {
      fault(
        'CONTRADICTION',
        ['tables', index],
        `the topics ${other} and ${topic} would meet in one table, ${table}: give one of them a rule of its own`,
      );
    }
    tables.set(table, topic);
  }
  for (const [table, topic] of tables) {
    const other = tables.get(`${table}__quarantine`);
    if (other !== undefined)
      fault(
        'CONTRADICTION',
        ['tables'],
        `${table}__quarantine is the quarantine of ${topic} and the table of ${other}`,
      );
  }
}
