/** Commands of containers, in busybox's shell, which is process 1. */
import type { Random } from '../../../test/fuzz/random.ts'

export const shell = (script: string): string[] => ['sh', '-c', script]

/** Delays are no multiples of each other, nor of a probe's period: what happens at one moment has no order. */
const delays = [0, 0, 0.7, 2.7, 11.3] as const
const exitCodes = [0, 0, 0, 1, 1, 2, 3, 42, 127, 137, 143, 255] as const

const onTerm = (random: Random): string => {
  const wait = random.pick(['', '', 'sleep 1.3; ', 'sleep 3.4; ', 'sleep 7.2; '])
  return `trap 'echo TERM; ${wait}exit ${random.pick([0, 0, 0, 3, 143])}' TERM; `
}
const wait = 'while :; do sleep 1000 & wait $!; done'

/** Runs until it is asked to end, and then longer, or for ever. */
export function lasting(random: Random): string {
  if (random.chance(0.2)) return 'echo up; exec sleep 1000'
  if (random.chance(0.1)) return `trap '' TERM; echo up; ${wait}`
  return `${onTerm(random)}echo up; ${wait}`
}

/** Ends by itself. */
export function ending(random: Random): string {
  const message = random.chance(0.3) ? `echo last words${random.chance(0.5) ? ' >/dev/termination-log' : ''}; ` : ''
  const term = random.chance(0.5) ? onTerm(random) : ''
  return `${term}echo up; sleep ${random.pick(delays)} & wait $!; ${message}exit ${random.pick(exitCodes)}`
}

/** Fails so many times, as the shared volume counts, and then succeeds or lasts. */
export const improving = (random: Random, name: string): string =>
  `echo x >>/shared/${name}; [ $(wc -l </shared/${name}) -gt ${random.pick([1, 2])} ] || exit ${random.pick([1, 5])}; ` +
  (random.chance(0.5) ? 'exit 0' : lasting(random))

/** Serves files of /tmp/www by HTTP; /tmp/www/ok comes or goes at a time. */
export function serving(random: Random, port: number): string {
  const change = random.pick([
    'touch /tmp/www/ok',
    'touch /tmp/www/ok',
    '(sleep 3.3; touch /tmp/www/ok) &',
    'touch /tmp/www/ok; (sleep 4.7; rm /tmp/www/ok) &',
  ])
  return `mkdir -p /tmp/www; ${change.endsWith('&') ? `${change} ` : `${change}; `}httpd -f -p ${port} -h /tmp/www & ${lasting(random)}`
}

/** Cannot be started, or ends at once. */
export const broken: readonly string[][] = [
  ['/no/such/program'],
  ['nosuchprogram', 'x'],
  ['/etc/passwd'],
  shell('syntax (error'),
]
