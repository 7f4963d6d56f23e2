/** Random containers. */
import type { Container } from '../../../shared/api/types.ts'
import type { Random } from '../../../test/fuzz/random.ts'
import { hook, port, probe } from './probes.ts'
import { broken, ending, improving, lasting, serving, shell } from './programs.ts'

/** Images that the registry of the recordings serves (its address is in test/harness/replay-kubelet.ts). */
export const image = '127.0.0.1:17490/busybox:1.37'
export const otherImage = '127.0.0.1:17490/pull:1'
const badImages = ['127.0.0.1:17490/nope:1', '127.0.0.1:17490/denied:1', 'Bad_Name!:1']

export type Role = 'init' | 'sidecar' | 'main'

export interface Making {
  random: Random
  role: Role
  /** Whether the container may listen: the containers of a pod share their ports. */
  mayServe: boolean
}

const sharedVolume = [{ name: 'shared', mountPath: '/shared' }]

export function container(name: string, making: Making): Container {
  const { random, role } = making
  const serves = making.mayServe && role !== 'init' && random.chance(0.25)
  return {
    name,
    image: random.chance(0.03) ? random.pick(badImages) : image,
    imagePullPolicy: 'IfNotPresent',
    volumeMounts: sharedVolume,
    ...program(name, making, serves),
    ...policy(making),
    ...(role === 'sidecar' && { restartPolicy: 'Always' }),
    ...(role !== 'init' && { ...probes(random, serves), ...hooks(random, serves) }),
    ...messages(random),
    ...environment(random),
  } as Container
}

function program(name: string, { random, role }: Making, serves: boolean): Partial<Container> {
  if (serves) return { command: shell(serving(random, port)) }
  if (random.chance(0.04)) return { command: random.pick(broken) }
  if (random.chance(0.08)) return { command: shell(improving(random, name)) }
  if (role === 'init') {
    if (random.chance(0.08)) return { command: shell(lasting(random)) }
    return { command: shell(random.chance(0.75) ? `sleep ${random.pick([0, 0.8, 2.1])}` : ending(random)) }
  }
  return { command: shell(random.chance(role === 'sidecar' ? 0.8 : 0.6) ? lasting(random) : ending(random)) }
}

const rules: readonly object[] = [
  { action: 'Restart', exitCodes: { operator: 'In', values: [1, 42] } },
  { action: 'Restart', exitCodes: { operator: 'NotIn', values: [0, 3] } },
  { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [2, 42, 137] } },
]

function policy({ random, role }: Making): object {
  if (role === 'sidecar' || !random.chance(0.15)) return {}
  const restartPolicy = random.pick(['Never', 'OnFailure'])
  return { restartPolicy, ...(random.chance(0.5) && { restartPolicyRules: [random.pick(rules)] }) }
}

const probes = (random: Random, serves: boolean): object => ({
  ...(random.chance(0.2) && { startupProbe: probe(random, 'startup', serves) }),
  ...(random.chance(0.3) && { livenessProbe: probe(random, 'liveness', serves) }),
  ...(random.chance(0.35) && { readinessProbe: probe(random, 'readiness', serves) }),
})

function hooks(random: Random, serves: boolean): object {
  const lifecycle = {
    ...(random.chance(0.15) && { postStart: hook(random, 'postStart', serves) }),
    ...(random.chance(0.3) && { preStop: hook(random, 'preStop', serves) }),
  }
  return Object.keys(lifecycle).length > 0 ? { lifecycle } : {}
}

const messages = (random: Random): object => ({
  ...(random.chance(0.2) && { terminationMessagePolicy: 'FallbackToLogsOnError' }),
  ...(random.chance(0.1) && { terminationMessagePath: '/tmp/words' }),
})

function environment(random: Random): object {
  if (!random.chance(0.04)) return {}
  const from = random.pick<object>([
    { configMapKeyRef: { name: 'missing', key: 'k' } },
    { secretKeyRef: { name: 'missing', key: 'k' } },
    { configMapKeyRef: { name: 'missing', key: 'k', optional: true } },
    { fieldRef: { fieldPath: 'metadata.name' } },
  ])
  return { env: [{ name: 'A', valueFrom: from }] }
}
