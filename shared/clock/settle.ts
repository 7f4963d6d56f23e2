/** Lets everything that is ready run: a few turns, since one thing leads to another. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}
