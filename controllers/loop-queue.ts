import { type LoopFailuresOptions, tellFailures } from '../shared/concurrency/loop-failures.ts'
import { WorkQueue } from '../shared/concurrency/work-queue.ts'

/** Creates the queue of a loop, which works on `concurrency` keys at once. The log tells which keys fail. */
export const createLoopQueue = <Key = string>(
  { concurrency, ...loop }: LoopFailuresOptions<Key> & { concurrency?: number },
  work: (key: Key) => Promise<void>,
): WorkQueue<Key> => new WorkQueue({ clock: loop.clock, concurrency, work, onError: tellFailures(loop) })
