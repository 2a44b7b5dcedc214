import { describe, expect, it } from 'vitest';
import { chooseKinds, countLine, countTests } from '../../../scripts/lib/test-kinds.mjs';

describe('chooseKinds', () => {
  it('takes kinds first, then what is for Vitest', () => {
    expect(chooseKinds(['unit', 'integration'])).toEqual({ kinds: ['unit', 'integration'], rest: [] });
    expect(chooseKinds(['unit', 'test/unit/core', '-t', 'unit'])).toEqual({
      kinds: ['unit'],
      rest: ['test/unit/core', '-t', 'unit'],
    });
  });

  it('takes all kinds that have tests where none is named', () => {
    const { kinds, rest } = chooseKinds(['--bail=1']);
    expect(kinds).toEqual(expect.arrayContaining(['unit', 'integration', 'interop']));
    expect(rest).toEqual(['--bail=1']);
  });

  it('refuses a kind that there is not', () => {
    expect(() => chooseKinds(['unti'])).toThrow('no kind of test called unti');
    expect(() => chooseKinds(['unit', 'e2'])).toThrow('no kind of test called e2');
  });
});

describe('countTests', () => {
  const file = (status: string, ...tests: string[]) => ({
    status,
    assertionResults: tests.map((each) => ({ status: each })),
  });

  it('counts what passed, failed and was skipped', () => {
    const report = {
      numPassedTests: 5,
      numFailedTests: 2,
      numPendingTests: 1,
      numTodoTests: 1,
      testResults: [file('failed', 'failed')],
    };
    expect(countTests(report, 1)).toEqual({ passed: 5, failed: 2, skipped: 2 });
  });

  it('counts a file that did not load as a failure', () => {
    const report = {
      numPassedTests: 5,
      numFailedTests: 0,
      testResults: [file('failed'), file('passed', 'passed')],
    };
    expect(countTests(report, 1)).toEqual({ passed: 5, failed: 1, skipped: 0 });
  });

  it('is never without a failure where the run failed, gave no report, or ran nothing', () => {
    expect(countTests({ numPassedTests: 5, numFailedTests: 0, testResults: [] }, 1).failed).toBe(1);
    expect(countTests(undefined, 0).failed).toBe(1);
    expect(countTests({ numPassedTests: 0, numPendingTests: 3, testResults: [] }, 0)).toEqual({
      passed: 0,
      failed: 1,
      skipped: 3,
    });
  });
});

describe('countLine', () => {
  it('names the skipped ones only where there are some', () => {
    expect(countLine({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed');
    expect(countLine({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped');
  });
});
