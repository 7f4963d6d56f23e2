import { parseTime } from '../../shared/clock/timestamp.ts'
import type { TokenFacts } from './secret.ts'

const minute = 60
const hour = 60 * minute
const day = 24 * hour
const units = [
  [365 * day, 'y'],
  [day, 'd'],
  [hour, 'h'],
  [minute, 'm'],
  [1, 's'],
] as const

/** Formats a duration in its largest unit. Upstream: apimachinery's duration.ShortHumanDuration. */
function shortDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  if (Number.isNaN(seconds) || seconds < -1) return '<invalid>'
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, 's']
  return `${Math.max(0, Math.floor(seconds / size))}${unit}`
}

const orNone = (text = ''): string => text || '<none>'

/** Returns the rows that `kubeadm token list` prints. `nowMs` is the server's time. */
export const tableOf = (tokens: readonly ({ token: string } & TokenFacts)[], nowMs: number): string[][] => [
  ['TOKEN', 'TTL', 'EXPIRES', 'USAGES', 'DESCRIPTION', 'EXTRA GROUPS'],
  ...tokens.map(({ token, expires, usages, description, groups }) => [
    token,
    expires ? shortDuration(parseTime(expires) - nowMs) : '<forever>',
    expires ?? '<never>',
    orNone(usages.join(',')),
    orNone(description),
    orNone(groups.join(',')),
  ]),
]
