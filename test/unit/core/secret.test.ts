import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { Secret } from '../../../src/core/secret.ts';

it('never prints, and gives its value only when asked', () => {
  const secret = new Secret('hunter2');
  expect(secret.reveal()).toBe('hunter2');
  const shown = [
    String(secret),
    `${secret}`,
    JSON.stringify({ secret }),
    inspect({ secret }, { depth: 9, showHidden: true }),
    Object.keys(secret).join(),
  ];
  expect(shown.join('\n')).not.toContain('hunter2');
  expect(shown[0]).toBe('***');
  expect(shown[2]).toBe('{"secret":"***"}');
});
