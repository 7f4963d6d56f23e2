import type { Request } from './http2-connection.ts'
import { load, median } from './load.ts'
import { CONNECTIONS } from './measure.ts'
import type { Server } from './processes.ts'
import type { Row } from './report.ts'

/** Returns the CPU time of the server in µs for each of these requests, without the opening of connections. */
export async function cpuOf(
  server: Server,
  { count, request }: { count: number; request(i: number): Request },
): Promise<number> {
  let before = 0
  const begin = (): void => {
    before = server.cpuMs()
  }
  await load(server.target, { count, connections: CONNECTIONS, request, begin })
  return ((server.cpuMs() - before) * 1000) / count
}

/** Compares the medians of what something costs with a feature and without it. `goal`: the multiple that it may cost. */
export const beside = (what: string, ours: number[], ceiling: number[], goal: number, unit = 'µs of CPU'): Row => ({
  what,
  unit,
  ours: median(ours),
  ceiling: median(ceiling),
  goal,
  smallerIsBetter: true,
})
