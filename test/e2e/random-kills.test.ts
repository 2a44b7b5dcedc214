/** SIGKILL at random points and times while a producer goes on. `npm run prove` does it for as long as you like. */
import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { Random } from '../../src/core/random.ts';
import { useKafka } from '../support/kafka.ts';
import { killRounds } from '../support/kill-rounds.ts';

const KILLS = 15;

it(`${KILLS} kills at random end exactly once`, async () => {
  const seed = Number(process.env.SLUICE_TEST_SEED ?? randomInt(2 ** 31));
  process.stderr.write(`random kills: SLUICE_TEST_SEED=${seed}\n`);
  const { bootstrap } = useKafka();
  const result = await killRounds({ bootstrap, random: new Random(seed), kills: KILLS });
  expect(result.kills).toHaveLength(KILLS);
  expect(result.rows + result.quarantined).toBe(result.produced);
});
