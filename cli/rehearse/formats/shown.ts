import type { Rehearsal } from '../report.ts'

/** The columns that all tables have, as text; `–` where there is nothing to say. */
export const columns = ['WAY', 'REASON SEEN', 'TIME TO STOP', 'EXIT', 'LOST', 'VERDICT'] as const

export function cells({ way, reason, hook, usedSeconds, graceSeconds, exitCodes, requests }: Rehearsal): string[] {
  const time = usedSeconds === undefined ? '–' : `${usedSeconds.toFixed(1)} of ${graceSeconds} s`
  const lost = requests ? `${requests.lost + requests.cut} of ${requests.sent}` : '–'
  return [way, hook === 'none' ? 'no hook' : (reason ?? '–'), time, exitCodes.join(', ') || '–', lost]
}
