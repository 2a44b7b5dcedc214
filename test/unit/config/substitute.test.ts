import { describe, expect, it } from 'vitest';
import { substitute } from '../../../src/config/substitute.ts';

const ENV = { A: 'x', EMPTY: '', NESTED: '${A}', QUOTE: '"}: \n' };

describe('substitute', () => {
  it.each([
    ['plain', 'plain'],
    ['${A}', 'x'],
    ['a${A}b${A}c', 'axbxc'],
    ['${EMPTY}', ''],
    ['${EMPTY:-d}', 'd'],
    ['${NOT:-}', ''],
    ['${NOT:-a:b-c?}', 'a:b-c?'],
    ['${A:-d}', 'x'],
    ['${A:?why}', 'x'],
    ['$${A}', '${A}'],
    ['$$${A}', '$${A}'],
    ['$A $ {A}', '$A $ {A}'],
    ['${NESTED}', '${A}'],
    ['${QUOTE}', '"}: \n'],
    ['${topic}/${A}', '${topic}/x'],
  ])('%j becomes %j', (text, expected) => {
    expect(substitute(text, ENV, ['topic'])).toEqual({ text: expected, faults: [] });
  });

  it.each([
    ['${NOT}', 'VARIABLE_UNSET', 'NOT is not set'],
    ['${EMPTY:?give one}', 'VARIABLE_UNSET', 'EMPTY is not set: give one'],
    ['${NOT:?}', 'VARIABLE_UNSET', 'it is required'],
    ['${A', 'VARIABLE_SYNTAX', 'without its }'],
    ['${}', 'VARIABLE_SYNTAX', 'expected ${VAR}'],
    ['${1A}', 'VARIABLE_SYNTAX', 'expected ${VAR}'],
    ['${A:-${B}}', 'VARIABLE_SYNTAX', 'not nested'],
    ['${topic}', 'VARIABLE_UNSET', 'topic is not set'],
    ['${toString}', 'VARIABLE_UNSET', 'toString is not set'],
  ])('%j is %s', (text, code, message) => {
    const { faults } = substitute(text, ENV);
    expect(faults[0]).toMatchObject({ code, message: expect.stringContaining(message) });
  });
});
