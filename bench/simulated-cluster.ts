/**
 * A cluster of the library of the package in the given folder, whose pods only seem to run; tells where it listens, and
 * ends when it is told to.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import type { Target } from './http2-connection.ts'

const [folder = '', simulatedNodes] = process.argv.slice(2)
const { startCluster }: typeof import('../library/index.ts') = await import(join(folder, 'dist/library/index.js'))
const cluster = await startCluster({ simulatedNodes: Number(simulatedNodes) })
const { hostname: host, port } = new URL(cluster.url)
process.send?.({ ...cluster.access, host, port: Number(port) } satisfies Target)
await once(process, 'SIGINT')
await cluster.close()
process.disconnect?.()
