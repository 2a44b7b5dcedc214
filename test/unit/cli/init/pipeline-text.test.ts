import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type PipelinePlace,
  pipelineText,
  type SampleFacts,
} from '../../../../src/cli/init/pipeline-text.ts';
import { ValueSniffer } from '../../../../src/cli/init/value-sniffer.ts';
import { loadPipeline } from '../../../../src/config/load-pipeline.ts';
import { runCli } from '../run-cli.ts';

const PLACE: PipelinePlace = { bootstrap: 'localhost:9092', topic: 'ad-clicks', kafka: [] };

function factsOf(
  values: readonly (string | Uint8Array | null)[],
  more: Partial<SampleFacts> = {},
): SampleFacts {
  const sniffer = new ValueSniffer();
  for (const value of values) sniffer.add(null, typeof value === 'string' ? Buffer.from(value) : value);
  return { ...sniffer.result(), partitions: 3, offsets: 1234567n, cut: false, ...more };
}

const load = (text: string) =>
  loadPipeline({ file: 'sluice.yaml', text, env: {}, overrides: [], cwd: '/' }).then(({ config }) => config);

describe('the pipeline of a topic', () => {
  it('has columns where the values are JSON', async () => {
    const facts = factsOf(['{"id":1,"items":[{"sku":"a","qty":2}],"at":"2026-07-14T09:05:06Z"}', null]);
    const text = pipelineText(PLACE, facts);
    expect(
      text,
    ).toContain(`# Made by \`sluice init\` for the topic ad-clicks, which holds about 1,234,567 records.
# It read 2 records from the ends of its 3 partitions: what is rare may be missing below.
# 1 record had no value (see \`tombstones\`).
# All of the 1 value are JSON objects.
name: ad-clicks
`);
    expect(text).toContain(`      schema: |
        id BIGINT,
        items ARRAY<STRUCT<sku: STRING, qty: BIGINT>>,
        at TIMESTAMP
`);
    const config = await load(text);
    expect(config).toMatchObject({ name: 'ad-clicks', source: { bootstrapServers: 'localhost:9092' } });
    expect(config.tables[0].value).toMatchObject({ format: { format: 'json' }, columns: { from: 'given' } });
    expect(config.tables[0].value?.columns).toEqual({ from: 'given', struct: facts.schema });
  });

  it('leaves out provenance columns whose names the values have', async () => {
    const config = await load(pipelineText(PLACE, factsOf(['{"Topic":1,"x":2}'])));
    expect(config.tables[0].provenance).toEqual(['kafka_partition', 'kafka_offset', 'kafka_timestamp']);
  });

  it.each([
    ['text', ['one', 'two'], 'string', 'The values are text.'],
    ['csv', ['1,a', '2,b'], 'string', 'schema: c1 STRING, c2 STRING'],
    ['binary', [Buffer.from([1, 2])], 'binary', 'no format that is known'],
    ['registry', [Buffer.from([0, 0, 0, 0, 7, 2])], 'binary', 'schemas 7'],
    ['registry-json', [Buffer.from('\0\0\0\0\x07{}')], 'binary', 'format: json-schema'],
    [
      'avro-single-object',
      [Buffer.from([0xc3, 1, 1, 2, 3, 4, 5, 6, 7, 8])],
      'binary',
      'framing: singleObject',
    ],
    ['none', [], 'string', 'No record could be read'],
    ['json', ['{"a":null}'], 'string', 'No field of them has a value yet'],
  ])('keeps the bytes of %s', async (kind, values, valueType, note) => {
    const facts = factsOf(values);
    expect(facts.kind).toBe(kind);
    const text = pipelineText(PLACE, facts);
    expect(text).toContain(note);
    const config = await load(text);
    expect(config.tables[0]).toMatchObject({ layout: 'bronze', valueType, value: null });
  });

  it('says what will not become a column, and what the sample left out', () => {
    const text = pipelineText(PLACE, factsOf(['{"a":1,"":2,"b\\n":3}', '{"a":"x"}'], { cut: true }));
    expect(text).toContain('# a is both long and string');
    expect(text).toContain('# "" becomes no column: a column has a name.');
    expect(text).toContain('# "b\\n" becomes no column');
    expect(text).toContain('stopped early');
  });

  it.each(['123', 'true', 'null', '_x', '...', 'a.b_c-D', '-'])('takes the topic %s', async (topic) => {
    const config = await load(pipelineText({ ...PLACE, topic }, factsOf(['{"a":1}'])));
    expect(config.tables[0].match).toBe(topic);
    expect(config.source.selection).toMatchObject({ topics: [topic] });
  });

  it('is valid whatever names the values have, and names the same columns', async () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom(
        '${HOME}',
        '$${x}',
        '$',
        '{',
        '# x',
        ': ',
        "'",
        '"',
        '`',
        '|',
        '- ',
        '&a',
        '*a',
        '\u2028',
        '\u0085',
        '\ufeff',
        '日本',
        'é',
        '%',
        '@',
        '!t',
        'a\\',
        '<',
        'STRUCT<',
      ),
      fc.string({ maxLength: 8 }),
    );
    const value = fc.oneof(
      fc.integer(),
      fc.string({ maxLength: 3 }),
      fc.array(fc.dictionary(name, fc.boolean(), { maxKeys: 2 }), { maxLength: 2 }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(name, value, { minKeys: 1, maxKeys: 5 }),
        fc.string({ maxLength: 20 }),
        async (document, password) => {
          const facts = factsOf([JSON.stringify(document)]);
          if (facts.kind !== 'json') return;
          const kafka = [['kafka.client.id', password === '' ? 'x' : password]] as const;
          const config = await load(pipelineText({ ...PLACE, kafka }, facts));
          if (facts.schema !== null)
            expect(config.tables[0].value?.columns).toEqual({ from: 'given', struct: facts.schema });
          expect(config.source.kafka['client.id']).toBe(kafka[0][1]);
        },
      ),
    );
  });
});

describe('the command line of init', () => {
  it.each([
    [['init', '--topic', 't'], "required option '--bootstrap <host:port>' not specified"],
    [
      ['init', '--bootstrap', 'b:1', '--topic', 't', '--sample', '0'],
      'It is a whole number from 1 to 100000',
    ],
    [['init', '--bootstrap', 'b:1', '--topic', 't', '--kafka', 'x'], 'It is key=value'],
    [
      ['init', '--bootstrap', 'b:1', '--topic', 't', '--kafka', 'sasl.password=secret'],
      'kafka.sasl.password: the value would stand in the file',
    ],
  ])('%j is USAGE', async (argv, message) => {
    const { code, stdout, stderr } = await runCli(argv);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('=secret');
  });

  it.each([
    [['--bootstrap', 'nowhere', '--topic', 't'], 'bootstrap'],
    [['--bootstrap', 'b:1', '--topic', 't', '--kafka', 'security.protocol=SLL'], 'SASL_SSL'],
    [['--bootstrap', 'b:1', '--topic', 'a topic'], 'subscribe'],
  ])('%j is CONFIG_INVALID before a broker is asked', async (argv, message) => {
    const { code, stdout, stderr } = await runCli(['init', ...argv]);
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    expect(stderr).toContain(message);
  });
});
