import { resolve } from 'node:path'
import type { OtherServer } from '../../cluster/supervisor/api-servers.ts'
import type { KubeList, Node } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import { textOf } from '../../shared/files/readable.ts'
import { askServer } from '../access/ask-server.ts'
import { accessTo, clusterPlace, elsewhere, type Place } from '../access/cluster-access.ts'
import { findRunning } from '../access/running.ts'
import { command } from '../command.ts'
import { summaryOf } from '../node/list.ts'
import { outputOption, printData } from '../terminal/output.ts'

export default command({
  purpose: 'Says what runs, since when, and how much memory it takes. Exit code 1 when nothing runs.',
  options: { ...clusterPlace, output: outputOption },
  async run({ values }) {
    const file = elsewhere(values)
    const status = file === undefined ? statusHere(values.stateDir) : await statusElsewhere(values, file)
    const { output } = values
    if (output !== 'text') await printData(output, status)
    else for (const [name, value] of Object.entries(status)) process.stdout.write(line(name, value))
    if (output === 'text' && status.state === 'stopped') process.stdout.write('kubestage up starts a cluster.\n')
    return status.state === 'running' ? 0 : 1
  },
})

type Status = Record<string, string | number | readonly OtherServer[] | undefined> & {
  state: 'running' | 'stopped' | 'starting or stopping' | 'does not answer'
}

function statusHere(stateDir: string): Status {
  const { state, holder, root, running } = findRunning(stateDir)
  const { imageOrigins: _, guardian: __, kubeletPids = [], ...told } = running ?? {}
  return {
    state: running ? 'running' : root === undefined ? 'stopped' : 'starting or stopping',
    stateDir: state.root,
    ...(holder && { pid: holder.pid, memoryBytes: memoryOf(holder.pid) }),
    ...(kubeletPids.length > 0 && { kubeletMemoryBytes: sumOf(kubeletPids.map(memoryOf)) }),
    ...told,
    ...(running && { kubeconfig: state.kubeconfig }),
  }
}

/** Returns what a cluster that was started elsewhere says of itself. */
async function statusElsewhere(place: Place, kubeconfig: string): Promise<Status> {
  const { server } = await accessTo(place)
  const told = { url: server, kubeconfig: resolve(kubeconfig) }
  try {
    const { gitVersion } = await askServer<{ gitVersion: string }>(place, { path: '/version' })
    const { items } = await askServer<KubeList<Node>>(place, { path: '/api/v1/nodes' })
    const ready = items.filter((node) => summaryOf(node, []).status.startsWith('Ready'))
    return { state: 'running', ...told, kubernetes: gitVersion, nodes: `${ready.length} of ${items.length} ready` }
  } catch (error) {
    return { state: 'does not answer', ...told, why: (error as Error).message }
  }
}

/** Returns undefined where nothing is known. */
function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) : undefined
}

/** Resident, in bytes; undefined where there is no /proc. */
function memoryOf(pid: number): number | undefined {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`))?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}

/** `2026-11-21T18:40:00Z (2m ago)` */
function withAge(time: string): string {
  const seconds = Math.max(0, Math.round((realClock.now() - parseTime(time)) / 1000))
  const units = [[86_400, 'd'] as const, [3_600, 'h'] as const, [60, 'm'] as const]
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, 's']
  return `${time} (${Math.floor(seconds / size)}${unit} ago)`
}

/** A server that has just ended has no process. */
const otherServer = ({ url, pid }: OtherServer, number: number): string =>
  `${`API server ${number}`.padEnd(15)} ${url} (${pid === undefined ? 'starts again' : `process ${pid}`})\n`

/** `memoryBytes` → `memory        93 MB`. */
function line(name: string, value: Status[string]): string {
  if (value === undefined) return ''
  if (name === 'ownUrl') return `${'API server 1'.padEnd(15)} ${value}\n`
  if (typeof value === 'object') return value.map((server, index) => otherServer(server, index + 2)).join('')
  const isBytes = name.endsWith('Bytes')
  const words = name.replace(/Bytes$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const isTime = name === 'startedAt'
  const shown = isBytes ? `${Math.round(Number(value) / 1024 / 1024)} MB` : isTime ? withAge(`${value}`) : String(value)
  return `${words.padEnd(15)} ${shown}\n`
}
