/**
 * The same requests to Kubestage with its own HTTP/2 and with that of Node, in turns: what our own earns
 * (docs/decisions/005-http2.md).
 */
import type { Server } from '../processes.ts'
import { type Comparison, reportNow } from '../report.ts'
import { comparable, fillBoth, measured } from './versus.ts'

const wanted = ['get', 'create', 'merge patch', 'watch, 1 watcher', 'watch, 100 watchers']

/** `start`: a new server, with these flags of `kubestage up`. */
export async function measureHttp2(start: (...flags: string[]) => Promise<Server>, rounds: number) {
  const servers = { ours: await start(), real: await start('--http2=node') }
  try {
    const rss = (): Comparison['figure'] => ({ ours: servers.ours.rssMegabytes(), real: servers.real.rssMegabytes() })
    for (const { target } of Object.values(servers)) await fillBoth(target)
    const rows: Comparison[] = []
    for (const figure of comparable(wanted)) rows.push(reportNow(await measured(servers, rounds, figure)))
    return [...rows, { what: 'RSS after all this', unit: 'MB', smallerIsBetter: true, figure: rss() }]
  } finally {
    for (const server of Object.values(servers)) await server.stop()
  }
}
