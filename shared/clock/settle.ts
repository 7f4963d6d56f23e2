import { loopShare } from './loop-share.ts'

/** The end of this turn of the event loop: all that was ready then has run. */
export const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Lets everything that is ready run: a few turns after all calls have had theirs, since one thing leads to another. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn = loopShare.isFull ? 0 : turn + 1) await endOfTurn()
}
