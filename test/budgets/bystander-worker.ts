/** A worker: a client that asks for one object again and again, and notes how long the server let it wait. */
import { once } from 'node:events'
import { connect } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { Started } from './server.ts'
import { residentBytes, servingThreadMs } from './server-process.ts'

/** What the bystander has seen since it was last asked. */
export interface Sighting {
  /** CPU time of the server between each request and its answer, in milliseconds. */
  waits: number[]
  failures: string[]
  mostRssBytes: number
}

const betweenMs = 10
const { port, tls, pid, path } = workerData as Started & { pid: number; path: string }
const session = connect(`https://127.0.0.1:${port}`, tls)
session.on('error', () => {})

let seen: Sighting = { waits: [], failures: [], mostRssBytes: 0 }

async function request(): Promise<void> {
  const before = servingThreadMs(pid)
  const stream = session.request({ ':path': path }).resume()
  const [headers] = await once(stream, 'response')
  await once(stream, 'close')
  seen.waits.push(servingThreadMs(pid) - before)
  if (headers[':status'] !== 200) seen.failures.push(`status ${headers[':status']}`)
  seen.mostRssBytes = Math.max(seen.mostRssBytes, residentBytes(pid))
}

parentPort?.on('message', () => {
  parentPort?.postMessage(seen)
  seen = { waits: [], failures: [], mostRssBytes: 0 }
})

for (;;) {
  await request().catch((error: unknown) => void seen.failures.push(String(error)))
  await sleep(betweenMs)
}
