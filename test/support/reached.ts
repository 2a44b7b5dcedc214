/** Waits for a moment in the middle of a run; a run that ends before it has not met what its test is about. */
export async function reached(moment: Promise<unknown>, running: Promise<unknown>): Promise<void> {
  const ended = running.then(() => {
    throw new Error('the run ended before');
  });
  await Promise.race([moment, ended]);
}
