/** The enum Signal of runtime.v1, from 1 on. `SIGRTMIN` and `SIGRTMAX` are the ends of a range of their own. */
const plain = [
  ...['ABRT', 'ALRM', 'BUS', 'CHLD', 'CLD', 'CONT', 'FPE', 'HUP', 'ILL', 'INT', 'IO', 'IOT', 'KILL', 'PIPE', 'POLL'],
  ...['PROF', 'PWR', 'QUIT', 'SEGV', 'STKFLT', 'STOP', 'SYS', 'TERM', 'TRAP', 'TSTP', 'TTIN', 'TTOU', 'URG', 'USR1'],
  ...['USR2', 'VTALRM', 'WINCH', 'XCPU', 'XFSZ'],
]
const fromLowest = 35
const fromHighest = 65

/** Returns the number of the signal in the enum; undefined for the runtime's own choice. */
export function signalEnum(name: string | undefined): number | undefined {
  const [, edge, count = '0'] = /^SIGRT(MIN|MAX)(?:[+-](\d+))?$/.exec(name ?? '') ?? []
  if (edge) return edge === 'MIN' ? fromLowest + Number(count) : fromHighest - Number(count)
  const at = plain.indexOf((name ?? '').replace(/^SIG/, ''))
  return at === -1 ? undefined : at + 1
}
