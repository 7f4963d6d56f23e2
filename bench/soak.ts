/** Whether the memory of an API server grows with the requests that it has answered. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './compare/etcd-server.ts'
import { busy } from './documents.ts'
import { Http2Connection, type Target } from './http2-connection.ts'
import { heapMegabytes } from './inspected-heap.ts'
import { load } from './load.ts'
import { CONNECTIONS, create, PODS, prepare } from './measure.ts'
import { bareApi, startKubestage } from './processes.ts'

const STORED = 1_000
const STEP = 100_000

/** Prints the memory of an API server with a constant number of pods before and after each step of the requests. */
export async function soak(requests: number): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-bench-'))
  const inspectPort = await freePort()
  const server = await startKubestage({ stateDir, flags: [...bareApi], inspectPort })
  try {
    await prepare(server.target)
    await load(server.target, { count: STORED, connections: CONNECTIONS, request: (i) => create(`stored-${i}`) })
    const step = Math.min(STEP, requests)
    for (let sent = 0; ; sent += step) {
      const heap = await heapMegabytes(inspectPort)
      process.stdout.write(
        `${sent.toLocaleString('en')} requests: heap ${heap.toFixed(1)} MB, RSS ${server.rssMegabytes().toFixed(0)} MB; ${busy()}\n`,
      )
      if (sent >= requests) return
      await mix(server.target, step)
    }
  } finally {
    await server.stop()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

/** Sends requests over all connections at once, each of which creates a pod, works with it and deletes it. */
async function mix(target: Target, count: number): Promise<void> {
  let sent = 0
  const work = async (name: string): Promise<void> => {
    const connection = await Http2Connection.open(target)
    while (sent < count) {
      sent += LIFE
      await life(connection, name)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, lane) => work(`soaked-${lane}`)))
}

/** The number of requests of one life. */
const LIFE = 8

async function life(connection: Http2Connection, name: string): Promise<void> {
  const path = `${PODS}/${name}`
  const alone = `fieldSelector=metadata.name%3D${name}`
  const body = Buffer.from(JSON.stringify({ metadata: { annotations: { mark: name } } }))
  await connection.request(create(name))
  await connection.stream(`${PODS}?watch=1&${alone}&timeoutSeconds=1`, () => {})
  await connection.request({ method: 'GET', path })
  await connection.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body })
  await connection.request({ method: 'GET', path: `${PODS}?limit=20` })
  await connection.request({ method: 'GET', path: `${PODS}?${alone}` })
  await connection.request({ method: 'GET', path })
  await connection.request({ method: 'DELETE', path: `${path}?gracePeriodSeconds=0` })
}
