/** An API server in a process of its own, whose CPU time and memory can be asked for. Runs with --expose-gc. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startTestApiServer } from '../harness/api-server.ts'

/** What the server's process has used, or holds now. */
export interface Usage {
  cpuMs: number
  /** Bytes that are still referenced, in the heap of V8 and outside. */
  heldBytes: number
  rssBytes: number
}

export interface Started {
  port: number
  /** What an administrator's connection is made with; without a certificate everybody is anonymous. */
  tls: { ca: string; cert?: string; key?: string }
}

const usage = (): Usage => {
  const { user, system } = process.cpuUsage()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { cpuMs: (user + system) / 1000, heldBytes: heapUsed + external, rssBytes: rss }
}

/** Timers and callbacks of what has ended run between the two. */
async function collect(): Promise<Usage> {
  const { gc } = globalThis as unknown as { gc(): void }
  gc()
  await sleep(10)
  gc()
  return usage()
}

const answers: Record<string, () => Usage | Promise<Usage>> = { usage, collect }

const ends: (() => unknown)[] = []
process.once('disconnect', async () => {
  for (const end of ends) await end()
  process.exit()
})
process.on('message', async (question: string) => process.send?.(await answers[question]?.()))

const { port, tls } = await startTestApiServer({ teardown: (end) => void ends.push(end) })
process.send?.({ port, tls } satisfies Started)
