/** Clears the null marks of rows [from, until), and says how many there were. */
export function takeNulls(nulls: Uint8Array, from: number, until: number): number {
  let count = 0;
  for (let row = from; row < until; row++) count += nulls[row];
  nulls.fill(0, from, until);
  return count;
}
