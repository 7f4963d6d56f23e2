/** The end of this turn of the event loop: all that was ready then has run. */
export const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Lets everything that is ready run: a few turns, since one thing leads to another. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await endOfTurn()
}
