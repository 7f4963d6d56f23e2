/** Unusual pods: some are refused by the API, and of the others each has to end. */
import fc from 'fast-check'
import type { Behaviour, SimulatedExec } from '../../../kubelet/runtime/simulated.ts'
import type { Container, Pod } from '../../../shared/api/types.ts'

export interface Subject {
  pod: Pod
  /** What its programs do, by container; a container without an entry runs until it is asked to end. */
  programs: Record<string, Behaviour>
  /** What commands beside the programs do. */
  command: SimulatedExec
  /** When it is deleted, and how. */
  deletedAfterMs: number
  gracePeriodSeconds: number | undefined
}

const MAX_INT32 = 2 ** 31 - 1
const MAX_SAFE = Number.MAX_SAFE_INTEGER

const sometimes = <T>(value: fc.Arbitrary<T>, freq = 3) => fc.option(value, { nil: undefined, freq })
/** Mostly small. */
const number = (min: number, ...absurd: number[]) =>
  fc.oneof({ weight: 5, arbitrary: fc.integer({ min, max: 30 }) }, { weight: 1, arbitrary: fc.constantFrom(...absurd) })
const words = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom('$(X)', '$$(X)', '$(', '$(X', '\u0000', '\n', '../../etc', 'x'.repeat(100_000)),
)
const mountPath = fc.oneof(
  fc.constantFrom(
    '/',
    '/data',
    '/etc',
    '/proc',
    '/dev/termination-log',
    'relative',
    '..',
    '/a b',
    '/ü',
    '/x/../y',
    '//',
  ),
  fc.string({ minLength: 1, maxLength: 30 }),
)

const exec = fc.record({ command: fc.array(words, { minLength: 1, maxLength: 3 }) })
const httpGet = fc.record({ path: words, port: fc.oneof(fc.integer({ min: 1, max: 65_535 }), fc.constant('none')) })
const tcpSocket = fc.record({ port: fc.integer({ min: 1, max: 65_535 }) })
const sleep = fc.record({ seconds: number(0, MAX_SAFE) })
const oneOf = (handlers: Record<string, fc.Arbitrary<unknown>>) =>
  fc.oneof(...Object.entries(handlers).map(([name, value]) => value.map((one) => ({ [name]: one }))))

const probe = fc
  .tuple(
    oneOf({ exec, httpGet, tcpSocket, grpc: fc.record({ port: fc.integer({ min: 1, max: 65_535 }) }) }),
    fc.record(
      {
        initialDelaySeconds: number(0, MAX_INT32),
        timeoutSeconds: number(0, MAX_INT32),
        periodSeconds: number(0, MAX_INT32),
        failureThreshold: number(0, MAX_INT32),
        successThreshold: fc.constant(1),
        terminationGracePeriodSeconds: number(1, 3600, MAX_SAFE),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([action, numbers]) => ({ ...action, ...numbers }))
const readiness = probe.map((one) => {
  const { terminationGracePeriodSeconds: _, ...rest } = one as Record<string, unknown>
  return rest
})
const lifecycle = fc.record(
  { postStart: oneOf({ exec, httpGet, sleep }), preStop: oneOf({ exec, httpGet, sleep }) },
  { requiredKeys: [] },
)
const env = fc.array(
  fc.record({
    name: fc.constantFrom('X', 'PATH', 'a.b-c', 'KUBERNETES_SERVICE_HOST', '1', 'a b', '-', 'LD_PRELOAD'),
    value: words,
  }),
  { maxLength: 4 },
)

const container = (name: string, more: Record<string, fc.Arbitrary<unknown>> = {}) =>
  fc.record(
    {
      name: fc.constant(name),
      image: fc.constantFrom('busybox', 'busybox:1.37', `x.y/z@sha256:${'a'.repeat(64)}`, 'UPPER', 'a:b:c', 'scratch'),
      command: sometimes(fc.array(words, { maxLength: 3 })),
      args: sometimes(fc.array(words, { maxLength: 3 })),
      workingDir: sometimes(mountPath),
      env: sometimes(env),
      imagePullPolicy: sometimes(fc.constantFrom('Always', 'Never', 'IfNotPresent')),
      resources: sometimes(
        fc.constantFrom({ requests: { cpu: '1m' } }, { limits: { memory: '1' } }, { limits: { cpu: '1000000' } }),
      ),
      volumeMounts: sometimes(
        fc.array(fc.record({ name: fc.constantFrom('v0', 'v1'), mountPath, subPath: sometimes(words) }), {
          maxLength: 2,
        }),
      ),
      terminationMessagePolicy: sometimes(fc.constantFrom('File', 'FallbackToLogsOnError')),
      terminationMessagePath: sometimes(mountPath),
      stdin: sometimes(fc.boolean()),
      tty: sometimes(fc.boolean()),
      unknownField: sometimes(fc.jsonValue()),
      ...more,
    },
    { requiredKeys: ['name', 'image', ...('restartPolicy' in more ? (['restartPolicy'] as never[]) : [])] },
  )
const appParts = {
  lifecycle: sometimes(lifecycle, 2),
  livenessProbe: sometimes(probe),
  readinessProbe: sometimes(readiness),
  startupProbe: sometimes(probe),
}
const sidecar = { restartPolicy: fc.constant('Always'), ...appParts }

const volume = (name: string) =>
  fc
    .oneof(
      fc.constantFrom<object>(
        { emptyDir: {} },
        { emptyDir: { sizeLimit: '1' } },
        { configMap: { name: 'missing' } },
        { configMap: { name: 'missing', optional: true } },
        { secret: { secretName: 'missing' } },
        { hostPath: { path: '/nowhere/at/all', type: 'Directory' } },
        { hostPath: { path: '/tmp', type: 'File' } },
        { downwardAPI: { items: [{ path: 'a/b', fieldRef: { fieldPath: "metadata.annotations['x']" } }] } },
        { projected: { sources: [{ configMap: { name: 'missing' } }] } },
        { persistentVolumeClaim: { claimName: 'missing' } },
      ),
    )
    .map((source) => ({ name, ...source }))

const spec = fc.record(
  {
    containers: fc
      .integer({ min: 1, max: 3 })
      .chain((count) => fc.tuple(...Array.from({ length: count }, (_, n) => container(`c${n}`, appParts)))),
    initContainers: sometimes(
      fc.oneof(
        fc.tuple(container('i0')),
        fc.tuple(container('i0', sidecar), container('i1'), container('i2', sidecar)),
      ),
    ),
    volumes: fc.tuple(volume('v0'), volume('v1')),
    nodeName: fc.constant('n1'),
    automountServiceAccountToken: fc.constant(false),
    restartPolicy: fc.constantFrom('Always', 'OnFailure', 'Never'),
    terminationGracePeriodSeconds: sometimes(number(0, -1, -MAX_SAFE, 3600, MAX_SAFE), 4),
    activeDeadlineSeconds: sometimes(number(1, MAX_INT32)),
    hostNetwork: sometimes(fc.boolean()),
    shareProcessNamespace: sometimes(fc.boolean()),
    hostname: sometimes(fc.constantFrom('h', 'h'.repeat(63))),
    setHostnameAsFQDN: sometimes(fc.boolean()),
    hostAliases: sometimes(fc.constant([{ ip: '127.0.0.1', hostnames: ['x'] }])),
    readinessGates: sometimes(fc.constant([{ conditionType: 'example.com/never' }])),
    tolerations: sometimes(fc.constant([{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: MAX_SAFE }])),
    unknownField: sometimes(fc.jsonValue()),
  },
  { requiredKeys: ['containers', 'volumes', 'nodeName', 'automountServiceAccountToken', 'restartPolicy'] },
)

const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  fc.constant({}),
  fc.record({ exitAfterMs: fc.integer({ min: 0, max: 60_000 }), exitCode: fc.integer({ min: 0, max: 255 }) }),
  fc.constant({ onTerm: 'ignore' as const }),
  fc.record({
    onTerm: fc.record({ afterMs: fc.integer({ min: 0, max: 40_000 }), exitCode: fc.integer({ min: 0, max: 255 }) }),
  }),
  fc.constant({ startError: 'exec: "nope": executable file not found in $PATH' }),
)

const anySubject: fc.Arbitrary<Subject> = fc.record({
  pod: fc
    .record({ annotations: sometimes(fc.dictionary(fc.constantFrom('x', 'a/b'), words, { maxKeys: 2 })), spec })
    .map(({ annotations, spec }) => ({ metadata: { name: 'p', annotations }, spec }) as unknown as Pod),
  programs: fc.dictionary(fc.constantFrom('c0', 'c1', 'c2', 'i0', 'i1', 'i2'), behaviour, { maxKeys: 6 }),
  command: fc.record({
    durationMs: fc.constantFrom(0, 500, 20_000, Number.MAX_SAFE_INTEGER),
    exitCode: fc.constantFrom(0, 1, 137),
    output: fc.constantFrom('', 'x'.repeat(20_000), '\u0000\uFFFD'),
  }),
  deletedAfterMs: fc.integer({ min: 0, max: 90_000 }),
  gracePeriodSeconds: sometimes(fc.constantFrom(0, 1, 3, 30, -1, MAX_SAFE), 2),
})

const containersOf = ({ pod }: Subject): Container[] => [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]
const graceOf = ({ pod }: Subject): number => Math.max(2, pod.spec.terminationGracePeriodSeconds ?? 30)
const commandSeconds = ({ command }: Subject): number => (command.durationMs ?? 0) / 1000

/**
 * How long a deletion may take: its own grace, and before it what a sync has begun and does not break off, as upstream:
 * kills by probes and after failed postStart hooks, one container after another, and postStart hooks themselves.
 */
function longestSeconds(subject: Subject): number {
  const own = Math.max(2, subject.gracePeriodSeconds ?? graceOf(subject))
  const before = containersOf(subject).map(({ livenessProbe, startupProbe, lifecycle }) => {
    const probes = [livenessProbe, startupProbe].filter((probe) => probe !== undefined)
    const kills = probes.map((probe) => probe.terminationGracePeriodSeconds ?? graceOf(subject))
    const { postStart } = lifecycle ?? {}
    const hook = postStart ? (postStart.sleep?.seconds ?? 0) + commandSeconds(subject) + graceOf(subject) : 0
    return Math.max(0, ...kills) + hook
  })
  return before.reduce((sum, one) => sum + one, own)
}

/** The test does not wait for more, even in virtual time: with a longer grace, nothing that runs is given a reason to use it up. */
const LIMIT_SECONDS = 7_200
const isAbsurd = (subject: Subject): boolean => longestSeconds(subject) > LIMIT_SECONDS
/** When all end at once, one after another. */
const OBEDIENT_SECONDS = 30
const has = ({ pod }: Subject, field: string): boolean => JSON.stringify(pod).includes(`"${field}"`)

export const secondsToEnd = (subject: Subject): number =>
  isAbsurd(subject) ? OBEDIENT_SECONDS : longestSeconds(subject)

export const subject: fc.Arbitrary<Subject> = anySubject
  // A postStart hook has to end: a real kubelet would wait for it for ever.
  .map((one) => (has(one, 'postStart') ? { ...one, command: { ...one.command, durationMs: 500 } } : one))
  .filter((one) => !isAbsurd(one) || !has(one, 'sleep'))
  .map((one) => (isAbsurd(one) ? { ...one, programs: {}, command: { ...one.command, durationMs: 0 } } : one))
