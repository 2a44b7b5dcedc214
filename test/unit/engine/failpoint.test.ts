import { describe, expect, it } from 'vitest';
import { FAILPOINTS, Failpoints } from '../../../src/engine/failpoint.ts';

describe('failpoints', () => {
  it('do nothing where none is armed', () => {
    const failpoints = new Failpoints('', () => expect.unreachable());
    for (const name of FAILPOINTS) failpoints.hit(name);
  });

  it('send the signal at the nth passing, once, each for itself', () => {
    const sent: string[] = [];
    const failpoints = new Failpoints('read@2=kill, before-done=stop ,read@3=stop', (signal) =>
      sent.push(signal),
    );
    const hits = ['read', 'after-done', 'read', 'before-done', 'read', 'read', 'before-done'] as const;
    const counts = hits.map((name) => {
      failpoints.hit(name);
      return sent.length;
    });
    expect(counts).toEqual([0, 0, 1, 2, 3, 3, 3]);
    expect(sent).toEqual(['SIGKILL', 'SIGSTOP', 'SIGSTOP']);
  });

  it('throw where that is asked for', () => {
    const failpoints = new Failpoints('write@2=throw');
    failpoints.hit('write');
    expect(() => failpoints.hit('write')).toThrow('INTERNAL: failpoint write reached');
    failpoints.hit('write');
  });

  it.each(['raed=kill', 'read', 'read@=kill', 'read@x=kill', 'read=pause', 'read=kill=stop'])(
    '%s is refused, with the names there are',
    (specification) => {
      expect(() => new Failpoints(specification)).toThrow(
        /USAGE: failpoint .* expected NAME\[@N\]=kill\|stop\|throw .* before-plan/,
      );
    },
  );
});
