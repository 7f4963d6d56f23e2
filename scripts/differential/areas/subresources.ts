/** Subresources of built-in kinds: their own bodies, changed in odd ways, by every verb. */
import type { Random } from '../../../test/fuzz/random.ts'
import type { JsonObject } from '../bases.ts'
import type { Case, Step } from '../case.ts'
import { mutate } from '../mutate.ts'
import { get, inSomeForm, patch, post, protobuf, put, query } from '../steps.ts'
import { homeOf, objectOf, samples } from './samples.ts'

interface Subresource {
  kind: string
  name: string
  /** Bodies for POST, PUT and patches. */
  bodies: readonly JsonObject[]
  /** The verbs that make sense; others are tried less often. */
  verbs: readonly Verb[]
  parameters?: Readonly<Record<string, readonly string[]>>
}
type Verb = (typeof verbs)[number]
const verbs = ['GET', 'POST', 'PUT', 'merge', 'strategic', 'json', 'apply', 'DELETE', 'HEAD', 'OPTIONS'] as const

const usual = {
  dryRun: ['All', 'x'],
  fieldManager: ['f', 'g', ''],
  fieldValidation: ['Strict', 'Warn', 'Ignore'],
  force: ['true'],
  pretty: ['true'],
}
const conditions = [
  { type: 'Ready', status: 'True', lastTransitionTime: '2020-01-01T00:00:00Z', reason: 'R', message: 'm' },
  { type: 'A', status: 'False' },
]
const container = { name: 'c', image: 'i' }
const scale = (replicas: unknown): JsonObject => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name: 'a', namespace: '{{name}}' },
  spec: { replicas },
})
const scaled = (kind: string): Subresource => ({
  kind,
  name: 'scale',
  verbs: ['GET', 'PUT', 'merge', 'strategic', 'json', 'apply'],
  bodies: [
    scale(2),
    scale(0),
    scale(-1),
    scale('2'),
    { ...scale(3), kind: 'Deployment' },
    { spec: { replicas: 4 } },
    {},
  ],
  parameters: usual,
})
const status = (kind: string, ...statuses: JsonObject[]): Subresource => ({
  kind,
  name: 'status',
  verbs: ['GET', 'PUT', 'merge', 'strategic', 'json', 'apply'],
  bodies: [...statuses, { conditions }, {}].map((status) => ({ metadata: { labels: { s: 't' } }, status })),
  parameters: usual,
})
const connected = (name: string): Subresource => ({
  kind: 'Pod',
  name,
  verbs: ['GET', 'POST'],
  bodies: [{}],
  parameters: {
    container: ['c', 'x', ''],
    command: ['ls', ''],
    stdin: ['true', '1', 'x'],
    stdout: ['true', 'false'],
    stderr: ['true'],
    tty: ['true', 'x'],
    ports: ['80', 'x', '0'],
    path: ['x', '/'],
  },
})
const containerStatus = {
  name: 'c', image: 'i', imageID: 'x', ready: true, restartCount: 1, state: { running: { startedAt: '2020-01-01T00:00:00Z' } },
} // biome-ignore format: short

const table: readonly Subresource[] = [
  scaled('Deployment'),
  scaled('ReplicaSet'),
  scaled('StatefulSet'),
  scaled('ReplicationController'),
  status(
    'Pod',
    { phase: 'Running', podIP: '1.2.3.4', podIPs: [{ ip: '1.2.3.4' }], containerStatuses: [containerStatus] },
    { phase: 'Succeeded', reason: 'R', message: 'm', observedGeneration: 1 },
    { qosClass: 'Guaranteed' },
    { hostIP: 'x', podIPs: [{ ip: '1.2.3.4' }, { ip: '1.2.3.5' }] },
    { resourceClaimStatuses: [{ name: 'x', resourceClaimName: 'y' }] },
  ),
  status(
    'Deployment',
    { replicas: 3, readyReplicas: 2, availableReplicas: 1, unavailableReplicas: 2 },
    { collisionCount: -1 },
  ),
  status('ReplicaSet', { replicas: 3, readyReplicas: 4 }, { replicas: -1 }),
  status('StatefulSet', { replicas: 3, currentRevision: 'x' }, { readyReplicas: 4 }),
  status('DaemonSet', { currentNumberScheduled: 1, numberMisscheduled: 0, desiredNumberScheduled: 1, numberReady: 1 }),
  status('ReplicationController', { replicas: 3 }, { observedGeneration: 9 }),
  status(
    'Job',
    { active: 1, startTime: '2020-01-01T00:00:00Z' },
    { succeeded: 1, completionTime: '2020-01-01T00:00:00Z' },
    {
      conditions: [{ type: 'Complete', status: 'True' }],
    },
  ),
  status('CronJob', { lastScheduleTime: '2020-01-01T00:00:00Z', active: [{ name: 'x' }] }),
  status(
    'PersistentVolumeClaim',
    { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] },
    {
      allocatedResources: { storage: '1Gi' },
      allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
    },
  ),
  status(
    'Service',
    { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } },
    { loadBalancer: { ingress: [{ hostname: 'a.b', ipMode: 'VIP' }] } },
  ),
  status('Ingress', { loadBalancer: { ingress: [{ ip: '1.2.3.4', ports: [{ port: 80, protocol: 'TCP' }] }] } }),
  status(
    'PodDisruptionBudget',
    { disruptionsAllowed: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
    {
      disruptedPods: { p: '2020-01-01T00:00:00Z' },
    },
  ),
  status('HorizontalPodAutoscaler', { currentReplicas: 1, desiredReplicas: 2, currentMetrics: null }),
  {
    kind: 'Pod',
    name: 'binding',
    verbs: ['POST'],
    bodies: [
      { metadata: { name: 'a' }, target: { kind: 'Node', name: 'n' } },
      { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'a', namespace: '{{name}}' }, target: { name: 'n' } },
      { target: { apiVersion: 'v1', kind: 'Node', name: 'n' } },
      { metadata: { name: 'b', annotations: { x: 'y' }, labels: { l: 'm' } }, target: { name: 'n' } },
      { metadata: { name: 'a', namespace: 'x' }, target: { name: 'n' } },
      { metadata: { name: 'a', uid: 'x' }, target: { name: 'n' } },
      { metadata: { name: 'a' }, target: {} },
    ],
    parameters: usual,
  },
  {
    kind: 'Pod',
    name: 'eviction',
    verbs: ['POST'],
    bodies: [
      { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'a', namespace: '{{name}}' } },
      { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'a' }, deleteOptions: { gracePeriodSeconds: 0 } },
      { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'a' }, deleteOptions: { dryRun: ['All'] } },
      { apiVersion: 'policy/v1beta1', kind: 'Eviction', metadata: { name: 'a' } },
      { metadata: { name: 'b' } },
      { metadata: { name: 'a', namespace: 'x' } },
      {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: 'a' },
        deleteOptions: { preconditions: { uid: 'x' } },
      },
    ],
    parameters: usual,
  },
  {
    kind: 'Pod',
    name: 'ephemeralcontainers',
    verbs: ['GET', 'PUT', 'merge', 'strategic', 'json', 'apply'],
    bodies: [
      { spec: { ephemeralContainers: [{ name: 'd', image: 'i' }] } },
      { spec: { ephemeralContainers: [{ name: 'd', image: 'i', targetContainerName: 'c' }] } },
      { spec: { ephemeralContainers: [{ name: 'c', image: 'i' }] } },
      { spec: { ephemeralContainers: [] } },
      { spec: { containers: [{ ...container, image: 'j' }] } },
      { spec: { ephemeralContainers: [{ name: 'd', image: 'i', ports: [{ containerPort: 80 }] }] } },
    ],
    parameters: usual,
  },
  {
    kind: 'Pod',
    name: 'resize',
    verbs: ['GET', 'PUT', 'merge', 'strategic', 'json', 'apply'],
    bodies: [
      { spec: { containers: [{ ...container, resources: { requests: { cpu: '1' } } }] } },
      { spec: { containers: [{ ...container, resources: { limits: { memory: '1Gi' } } }] } },
      { spec: { containers: [{ ...container, resources: { requests: { 'ephemeral-storage': '1Gi' } } }] } },
      {
        spec: {
          containers: [{ ...container, resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] }],
        },
      },
      { spec: { containers: [{ name: 'x', image: 'i' }] } },
      { spec: { resources: { requests: { cpu: '1' } } } },
      { spec: { containers: [{ ...container, image: 'j' }] } },
      { metadata: { labels: { x: 'y' } }, spec: {} },
    ],
    parameters: usual,
  },
  {
    kind: 'Pod',
    name: 'log',
    verbs: ['GET'],
    bodies: [{}],
    parameters: {
      container: ['c', 'x', ''],
      follow: ['true', 'x', '0'],
      previous: ['true', 'x'],
      sinceSeconds: ['1', '0', '-1', 'x', ''],
      sinceTime: ['2020-01-01T00:00:00Z', 'x', ''],
      tailLines: ['1', '0', '-1', 'x'],
      limitBytes: ['1', '0', '-1', 'x'],
      timestamps: ['true', 'x'],
      stream: ['All', 'Stdout', 'Stderr', 'x', ''],
      insecureSkipTLSVerifyBackend: ['true', 'x'],
      unknown: ['1'],
    },
  },
  connected('exec'),
  connected('attach'),
  connected('portforward'),
  connected('proxy'),
  {
    kind: 'ServiceAccount',
    name: 'token',
    verbs: ['POST'],
    bodies: [
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['x'] } },
      { spec: { expirationSeconds: 600 } },
      { spec: { expirationSeconds: 599 } },
      { spec: { expirationSeconds: 4_294_967_297 } },
      { spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p' } } },
      { spec: { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'p' } } },
      { spec: { boundObjectRef: { kind: 'Node', apiVersion: 'v1', name: 'p' } } },
      { spec: { boundObjectRef: { kind: 'X', apiVersion: 'v1', name: 'p' } } },
      { metadata: { name: 'x', namespace: 'y' }, spec: {} },
      {},
    ],
    parameters: usual,
  },
  { kind: 'ConfigMap', name: 'status', verbs, bodies: [{}] },
  { kind: 'Deployment', name: 'rollback', verbs, bodies: [{}] },
  { kind: 'Pod', name: 'scale', verbs, bodies: [{}] },
  { kind: 'Pod', name: 'x', verbs, bodies: [{}] },
  { kind: 'Service', name: 'proxy', verbs: ['GET', 'POST'], bodies: [{}] },
]

const pointers: readonly unknown[] = [
  [{ op: 'replace', path: '/spec/replicas', value: 2 }],
  [{ op: 'add', path: '/status/replicas', value: 2 }],
  [{ op: 'remove', path: '/status' }],
  [{ op: 'add', path: '/status', value: {} }],
  [{ op: 'add', path: '/metadata/labels', value: { x: 'y' } }],
  [{ op: 'test', path: '/kind', value: 'x' }],
]

/** Asks some subresources of one object, and reads it at the end. */
export function makeSubresource(random: Random): Case {
  const first = random.pick(table)
  const ofKind = table.filter(({ kind }) => kind === first.kind)
  const sample = samples.find(({ kind }) => kind === first.kind)!
  const save = { rv: 'metadata.resourceVersion', uid: 'metadata.uid' }
  const steps: Step[] = [
    ...homeOf(sample),
    { ...post(`${sample.collection}?fieldManager=f`, objectOf(sample, { name: 'a' })), save },
  ]
  for (let more = 1 + random.below(4); more > 0; more--) {
    const { name, verbs: sensible, bodies, parameters = usual } = random.chance(0.7) ? first : random.pick(ofKind)
    const verb = random.chance(0.92) ? random.pick(sensible) : random.pick(verbs)
    const object = random.chance(0.97) ? 'a' : 'x'
    const path = `${sample.collection}/${object}/${name}${query(random, parameters, 2)}`
    steps.push(inSomeForm(random, stepOf(verb, path, bodyOf(bodies, random), random)))
  }
  steps.push(get(`${sample.collection}/a`))
  return { kind: `${first.kind}/${first.name}`, operation: 'subresource', what: first.name, steps }

  function bodyOf(bodies: readonly JsonObject[], random: Random): JsonObject {
    const body = structuredClone(random.pick(bodies))
    if (random.chance(0.2)) mutate(body, random)
    if (random.chance(0.15))
      body.metadata = { ...(body.metadata as JsonObject), resourceVersion: random.pick(['{{rv}}', '1', 'x']) }
    return body
  }

  function stepOf(verb: Verb, path: string, body: JsonObject, random: Random): Step {
    const { apiVersion, kind } = sample
    switch (verb) {
      case 'GET':
      case 'HEAD':
      case 'OPTIONS':
        return { method: verb, path }
      case 'DELETE':
        return { method: verb, path, body: {} }
      case 'POST':
        return random.chance(0.1) && body.kind ? { ...post(path, body), type: protobuf } : post(path, body)
      case 'PUT': {
        const metadata = { name: 'a', ...(body.metadata as JsonObject) }
        return put(path, { ...objectOf(sample, metadata), ...body, metadata })
      }
      case 'json':
        return patch('json', path, random.pick(pointers))
      case 'apply':
        return patch('apply', `${path}${path.includes('?') ? '&' : '?'}fieldManager=g`, { apiVersion, kind, ...body })
      default:
        return patch(verb, path, body)
    }
  }
}
