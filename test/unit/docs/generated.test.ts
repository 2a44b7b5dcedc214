import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { generatedFiles } from '../../../scripts/docs.ts';
import { FAULT_CODES } from '../../../src/config/fault.ts';
import { OPTIONS } from '../../../src/config/options.ts';
import { REASON_CODES } from '../../../src/decode/reasons.ts';
import { STAYS } from '../../../src/engine/requeue/requeue-intake.ts';
import { ERROR_CODES } from '../../../src/errors.ts';
import { sourceFiles } from '../architecture/source-files.ts';

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8');

describe('generated files are those of the code (node scripts/docs.ts writes them)', () => {
  it.each(Object.entries(generatedFiles()))('%s', (path, text) => {
    expect(read(path)).toBe(text);
  });

  it('name every code and every option', () => {
    const errors = read('docs/errors.md');
    for (const code of Object.keys(ERROR_CODES)) expect(errors).toContain(`## ${code}\n`);
    for (const code of Object.keys(FAULT_CODES)) expect(errors).toContain(`| ${code} |`);
    const options = read('docs/options.md');
    for (const option of OPTIONS) expect(options).toContain(`| \`${option.key}\` |`);
  });
});

describe('the table of reasons', () => {
  it.each(Object.entries(REASON_CODES))(
    '%s has a meaning, a cause and a remedy, on the page',
    (code, row) => {
      for (const text of [row.meaning, row.cause, row.remedy]) expect(text).toMatch(/^[A-Z`].*\.$/);
      expect(read('docs/quarantine.md')).toContain(`| \`${code}\` | ${row.meaning} |`);
    },
  );

  it('holds no code that nothing says', () => {
    const said = new Set<string>();
    for (const { text } of sourceFiles())
      for (const [, code] of text.matchAll(/'([A-Z]+(?:_[A-Z0-9]+)+)'/g)) said.add(code);
    for (const code of Object.keys(REASON_CODES)) expect(said, code).toContain(code);
  });

  it('is not mixed up with what a requeue says of records that stay', () => {
    for (const code of Object.keys(STAYS)) expect(Object.keys(REASON_CODES)).not.toContain(code);
  });
});

describe('the table of errors', () => {
  const exits = new Set([3, 4, 64, 65, 69, 70, 75, 78]);
  it.each(Object.entries(ERROR_CODES))(
    '%s has a known exit code, an HTTP status, and words',
    (_code, row) => {
      expect(exits.has(row.exit)).toBe(true);
      expect(row.http).toBeGreaterThanOrEqual(400);
      expect(row.http).toBeLessThan(600);
      expect(row.meaning).toMatch(/^[A-Z`].*\.$/);
      expect(row.remedy).toMatch(/\.$/);
    },
  );
});
