import { constants } from 'node:os'

/**
 * Sends a signal (a name, with or without SIG, also SIGRTMIN+n, or a number) to a process, or with a negative id to its
 * group. False: it is gone. Ids that mean others than one process and its group (0: the kubelet's own group, -1: all
 * processes) are refused.
 */
export function sendSignal(pid: number, signal: string): boolean {
  if (Math.abs(pid) <= 1) throw new Error(`no container has process id ${pid}`)
  try {
    process.kill(pid, signalNumber(signal))
    return true
  } catch {
    return false
  }
}

const firstRealTime = 34

export function signalNumber(signal: string): number {
  if (/^\d+$/.test(signal)) return Number(signal)
  const name = signal.toUpperCase().replace(/^(?!SIG)/, 'SIG')
  const realTime = /^SIGRTM(IN|AX)(?:([+-])(\d+))?$/.exec(name)
  if (realTime) {
    const [, edge, sign, count = '0'] = realTime
    return (edge === 'IN' ? firstRealTime : 64) + (sign === '-' ? -Number(count) : Number(count))
  }
  if (name === 'SIGCLD') return constants.signals.SIGCHLD
  return (constants.signals as Record<string, number>)[name] ?? constants.signals.SIGTERM
}
