import { readFileSync } from 'node:fs'
import { realClock } from '../shared/clock/real-clock.ts'
import { parseTime } from '../shared/clock/timestamp.ts'
import { configOption } from '../shared/config/resolve.ts'
import { command } from './command.ts'
import { outputOption, printData } from './output.ts'
import { findRunning } from './running.ts'
import { stateDirOption } from './state-directory.ts'

export default command({
  purpose: 'Says what runs, since when, and how much memory it takes. Exit code 1 when nothing runs.',
  options: { config: configOption, stateDir: stateDirOption, output: outputOption },
  async run({ values: { stateDir, output } }) {
    const { state, holder, running } = findRunning(stateDir)
    const status = {
      state: running ? 'running' : holder === undefined ? 'stopped' : 'starting or stopping',
      stateDir: state.root,
      ...(holder && { pid: holder.pid, memoryBytes: memoryOf(holder.pid) }),
      ...(running?.kubeletPid !== undefined && { kubeletMemoryBytes: memoryOf(running.kubeletPid) }),
      ...running,
      ...(running && { kubeconfig: state.kubeconfig }),
    }
    if (output !== 'text') await printData(output, status)
    else for (const [name, value] of Object.entries(status)) process.stdout.write(line(name, value))
    if (output === 'text' && !holder) process.stdout.write('kubestage up starts a cluster.\n')
    return running ? 0 : 1
  },
})

/** Resident, in bytes; undefined where there is no /proc. */
function memoryOf(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
  } catch {
    return undefined
  }
}

/** `2026-11-21T18:40:00Z (2m ago)` */
function withAge(time: string): string {
  const seconds = Math.max(0, Math.round((realClock.now() - parseTime(time)) / 1000))
  const units = [[86_400, 'd'] as const, [3_600, 'h'] as const, [60, 'm'] as const]
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, 's']
  return `${time} (${Math.floor(seconds / size)}${unit} ago)`
}

/** `memoryBytes` → `memory        93 MB`. */
function line(name: string, value: string | number | undefined): string {
  if (value === undefined) return ''
  const isBytes = name.endsWith('Bytes')
  const words = name.replace(/Bytes$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const isTime = name === 'startedAt'
  const shown = isBytes ? `${Math.round(Number(value) / 1024 / 1024)} MB` : isTime ? withAge(`${value}`) : String(value)
  return `${words.padEnd(15)} ${shown}\n`
}
