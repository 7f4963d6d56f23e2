import { pino } from 'pino'
import type { Test } from 'tap'
import type { Controller, ControllerContext } from '../../controllers/controller.ts'
import { createInformers } from '../../controllers/informers/informers.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import type { Client, ObjectRef, Resource } from '../../shared/client/client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import type { Log } from '../../shared/log/log.ts'

/**
 * Starts one loop until the test ends, beside a control plane with `controllers: ['-*']`. What the loop logs, failures
 * at debug included, are comments of the test. `writes` grows as {@link countingClient} says. To see that the loop writes
 * no more about an object, change another object afterwards and wait for the loop's write of that: events of a kind and
 * keys of a queue come in order.
 */
export function startTestLoop(
  t: Test,
  client: Client,
  start: (context: ControllerContext) => Controller,
): { writes: readonly string[] } {
  const { client: counting, writes } = countingClient(client)
  const context = { client: counting, clock: realClock, log: tapLog(t) }
  const informers = createInformers(context)
  const loop = start({ ...context, informers })
  t.teardown(async () => {
    await loop.close()
    await informers.close()
  })
  return { writes }
}

/** Adds a line such as `patch configmaps/first` to `writes` for each write, once it is answered or refused. */
export function countingClient(client: Client): { client: Client; writes: readonly string[] } {
  const writes: string[] = []
  const counted =
    (verb: keyof Client, call: (...words: unknown[]) => Promise<unknown>) =>
    (...words: unknown[]): Promise<unknown> => {
      const [{ plural }, subject] = words as [Resource, Partial<KubeObject & ObjectRef>]
      const name = subject.name ?? subject.metadata?.name ?? ''
      return call.apply(client, words).finally(() => writes.push(`${verb} ${plural}/${name}`))
    }
  const counting = new Proxy(client, {
    get(_, member: keyof Client) {
      const call = client[member] as (...words: unknown[]) => Promise<unknown>
      return writeVerbs.has(member) ? counted(member, call) : call.bind(client)
    },
  })
  return { client: counting, writes }
}
const writeVerbs = new Set<keyof Client>(['create', 'update', 'patch', 'delete'])

/** Returns a log whose lines are comments of the test. */
export const tapLog = (t: Pick<Test, 'comment'>): Log =>
  pino({ level: 'debug', base: null, timestamp: false }, { write: (line: string) => t.comment(line.trimEnd()) })
