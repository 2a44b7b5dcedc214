/** The examples of docs/security.md are pipelines that load without a fault. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { kafkaClientOptions } from '../../../src/config/client-options.ts';
import { defineConfig } from '../../../src/config/define-config.ts';
import { loadPipeline } from '../../../src/config/load-pipeline.ts';
import { readClientSettings } from '../../../src/kafka/client-options.ts';

const page = readFileSync(fileURLToPath(new URL('../../../docs/security.md', import.meta.url)), 'utf8');
const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1]);

describe('docs/security.md', () => {
  it('has an example of each way', () => {
    expect(examples).toHaveLength(5);
    // Its example in TypeScript, with a function that stands for the reader's own.
    expect(page).toContain("'kafka.sasl.oauthbearer.token': async () => (await fetchToken()).accessToken");
    const token = async () => 'abc';
    expect(
      defineConfig({
        name: 'orders',
        checkpointLocation: 'c',
        catalog: { type: 'sqlite', uri: 'c.db', warehouse: 'w' },
        source: {
          'kafka.bootstrap.servers': 'k:1',
          'kafka.sasl.oauthbearer.token': token,
          subscribe: 'orders',
        },
      }).source['kafka.sasl.oauthbearer.token'],
    ).toBe(token);
  });

  it.each(examples)('%s', async (example) => {
    const text = `name: p
checkpointLocation: ./cp
catalog: { type: sqlite, uri: ./c.db, warehouse: ./w }
${example}  kafka.bootstrap.servers: kafka.example.org:9093
  subscribe: orders
`.replace('file:/run/secrets/kafka-client', 'env:KAFKA_PASSWORD');
    const env = { KAFKA_PASSWORD: 'p', KEY_PASSWORD: 'k' };
    const { config, warnings } = await loadPipeline({
      file: 'sluice.yaml',
      text,
      env,
      overrides: [],
      cwd: '/',
    });
    expect(warnings).toEqual([]);
    const { security } = readClientSettings({
      bootstrapServers: config.source.bootstrapServers,
      clientId: 'c',
      kafka: kafkaClientOptions(config.source),
      requestDeadlineMs: 1,
    });
    expect(security?.protocol).toBe(config.source.kafka['security.protocol']);
  });

  it('names only options that there are', async () => {
    const { OPTIONS } = await import('../../../src/config/options.ts');
    const known = new Set(OPTIONS.map((option) => option.key));
    const named = [...page.matchAll(/kafka\.(?:sasl|ssl|security|request)[\w.]*\w/g)].map(
      (match) => match[0],
    );
    const isKnown = (name: string) => known.has(name) || [...known].some((key) => key.startsWith(`${name}.`));
    expect(named.filter((name) => !isKnown(name))).toEqual([]);
  });
});
