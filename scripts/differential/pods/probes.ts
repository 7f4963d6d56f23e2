/** Random probes and hooks. */
import type { LifecycleHandler, Probe } from '../../../shared/api/types.ts'
import type { Random } from '../../../test/fuzz/random.ts'
import { shell } from './programs.ts'

export const port = 8080

const check = (random: Random): string =>
  random.pick([
    'true',
    'true',
    'exit 1',
    'echo unwell; exit 3',
    'test -f /tmp/mark',
    // Fails, succeeds and fails again, by its number of runs.
    'echo x >>/tmp/runs; [ $(wc -l </tmp/runs) -gt 2 ]',
    'echo x >>/tmp/runs; [ $(wc -l </tmp/runs) -lt 4 ]',
    'sleep 4',
  ])

type Handler = Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'>

function handler(random: Random, serves: boolean): Handler {
  const kind = random.pick(
    serves ? (['http', 'http', 'tcp', 'exec'] as const) : (['exec', 'exec', 'exec', 'refused'] as const),
  )
  if (kind === 'exec') return { exec: { command: random.chance(0.05) ? ['nosuchcheck'] : shell(check(random)) } }
  if (kind === 'tcp') return { tcpSocket: { port: random.pick([port, port, 81]) } }
  if (kind === 'http') return { httpGet: { path: random.pick(['/ok', '/ok', '/missing']), port } }
  return random.pick<Handler>([
    { tcpSocket: { port: 81 } },
    { httpGet: { path: '/', port: 81 } },
    { grpc: { port: 81 } },
  ])
}

export function probe(random: Random, of: 'startup' | 'liveness' | 'readiness', serves: boolean): Probe {
  const sometimes = <T extends object>(chance: number, fields: T): T | object => (random.chance(chance) ? fields : {})
  return {
    ...handler(random, serves),
    periodSeconds: random.pick([1, 2, 2, 3]),
    ...sometimes(0.3, { initialDelaySeconds: random.pick([1, 2, 4]) }),
    ...sometimes(0.6, { failureThreshold: random.pick([1, 2, 2]) }),
    ...sometimes(0.3, { timeoutSeconds: random.pick([1, 2]) }),
    ...(of === 'readiness' && sometimes(0.2, { successThreshold: 2 })),
    ...(of !== 'readiness' && sometimes(0.25, { terminationGracePeriodSeconds: random.pick([1, 3, 6]) })),
  } as Probe
}

export function hook(random: Random, of: 'postStart' | 'preStop', serves: boolean): LifecycleHandler {
  const kind = random.pick(
    serves ? (['exec', 'http', 'sleep'] as const) : (['exec', 'exec', 'sleep', 'refused'] as const),
  )
  if (kind === 'sleep') return { sleep: { seconds: random.pick([0, 1, 2, 3]) } }
  if (kind === 'http') return { httpGet: { path: random.pick(['/ok', '/missing']), port } }
  if (kind === 'refused') return { httpGet: { path: '/', port: 81 } }
  const long = of === 'preStop' ? 'sleep 9.3' : 'sleep 2.3'
  const script = random.pick([
    'true',
    'touch /tmp/mark',
    'sleep 1.2',
    long,
    'echo bad; exit 4',
    'sleep 0.6; rm -f /tmp/mark /tmp/www/ok',
  ])
  return { exec: { command: shell(script) } }
}
