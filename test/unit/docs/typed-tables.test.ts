/** The examples of docs/typed-tables.md and examples/ad-events-typed are pipelines that load without a fault. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadPipeline } from '../../../src/config/load-pipeline.ts';

const textOf = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8');
const examples = [...textOf('docs/typed-tables.md').matchAll(/```yaml\n([\s\S]*?)```/g)].map(
  (match) => match[1],
);

const load = (text: string) =>
  loadPipeline({ file: 'sluice.yaml', text, env: { REGISTRY_USER_INFO: 'u:p' }, overrides: [], cwd: '/' });

describe('docs/typed-tables.md', () => {
  it('has its examples', () => expect(examples).toHaveLength(5));

  it.each(examples)('%s', async (example) => {
    const text = `name: p
checkpointLocation: ./cp
catalog: { type: sqlite, uri: ./c.db, warehouse: ./w }
source: { kafka.bootstrap.servers: "k:1", subscribePattern: ".*" }
${example}`;
    const { config, warnings } = await load(text);
    expect(config.tables[0].layout).toBe('typed');
    expect(warnings).toEqual([]);
  });
});

it('examples/ad-events-typed is a pipeline', async () => {
  const { config, warnings } = await load(textOf('examples/ad-events-typed/sluice.yaml'));
  expect(config.tables[0]).toMatchObject({ evolve: 'add', route: { by: 'source', unknown: 'create' } });
  expect(warnings).toEqual([]);
});
