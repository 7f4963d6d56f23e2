/** Lists and maps of pods. */
import { times } from '../../times.ts'
import {
  changed,
  container,
  containers,
  core,
  created,
  meta,
  patch,
  pod,
  pods,
  post,
  put,
  remove,
  type Situation,
  statusOf,
  table,
  turned,
} from './writing.ts'

export const podSituations: Situation[] = [
  changed('tolerations of a pod that is updated', pods, (size, isNew) =>
    pod({
      tolerations: turned(
        isNew,
        times(size, (i) => ({ key: `k${i}`, operator: 'Exists' })),
      ),
    }),
  ),
  changed('scheduling gates of a pod that is updated', pods, (size, isNew) =>
    pod({
      schedulingGates: turned(
        isNew,
        times(size, (i) => ({ name: `example.com/g${i}` })),
      ),
    }),
  ),
  {
    name: 'statuses of containers that have ended',
    work(size) {
      const state = (ended: boolean) => (ended ? { terminated: { exitCode: 0 } } : { running: {} })
      const statuses = (ended: boolean) => ({
        ...pod({ containers: containers(size), restartPolicy: 'Never' }),
        status: {
          containerStatuses: turned(
            !ended,
            times(size, (i) => ({
              name: `c${i}`,
              image: 'a',
              imageID: 'a',
              ready: false,
              restartCount: 0,
              state: state(ended),
            })),
          ),
        },
      })
      return {
        before: [post(pods, statuses(true)), patch(`${pods}/large/status`, statusOf(statuses(true)))],
        measured: [patch(`${pods}/large/status`, statusOf(statuses(false)))],
        after: [remove(`${pods}/large`)],
      }
    },
  },
  {
    name: 'ephemeral containers, and one more',
    work(size) {
      const ephemeral = (count: number) => pod({ ephemeralContainers: containers(count) })
      const path = `${pods}/large/ephemeralcontainers`
      return {
        before: [post(pods, pod({})), put(path, ephemeral(size))],
        measured: [put(path, ephemeral(size + 1))],
        after: [remove(`${pods}/large`)],
      }
    },
  },
  created('AppArmor profiles of containers', pods, (size) =>
    pod(
      { containers: containers(size) },
      {
        annotations: Object.fromEntries(
          times(size, (i) => [`container.apparmor.security.beta.kubernetes.io/c${size - i - 1}`, 'runtime/default']),
        ),
      },
    ),
  ),
  changed(
    'resources of containers that are resized',
    pods,
    (size, isNew) =>
      pod({
        containers: turned(
          isNew,
          containers(size, () => ({ resources: { requests: { cpu: isNew ? '2m' : '1m' } } })),
        ),
      }),
    '/resize',
  ),
  {
    name: 'readiness gates and conditions in a table',
    work(size) {
      const object = {
        ...pod({ readinessGates: times(size, (i) => ({ conditionType: `example.com/c${i}` })) }),
        status: { conditions: times(size, (i) => ({ type: `example.com/c${size - i}`, status: 'True' })) },
      }
      return {
        before: [post(pods, object), patch(`${pods}/large/status`, statusOf(object))],
        measured: [{ path: pods, headers: table }],
        after: [remove(`${pods}/large`)],
      }
    },
  },
  created('volumes and their mounts', pods, (size) =>
    pod({
      volumes: times(size, (i) => ({ name: `v${i}`, emptyDir: {} })),
      containers: [
        { ...container, volumeMounts: times(size, (i) => ({ name: `v${size - i - 1}`, mountPath: `/m${i}` })) },
      ],
    }),
  ),
  created('block volumes and their devices', pods, (size) =>
    pod({
      volumes: times(size, (i) => ({ name: `v${i}`, persistentVolumeClaim: { claimName: `c${i}` } })),
      containers: [
        { ...container, volumeDevices: times(size, (i) => ({ name: `v${size - i - 1}`, devicePath: `/d${i}` })) },
      ],
    }),
  ),
  created('resource claims of a pod and of its containers', pods, (size) =>
    pod({
      resourceClaims: times(size, (i) => ({ name: `r${i}`, resourceClaimName: 'a' })),
      containers: [{ ...container, resources: { claims: times(size, (i) => ({ name: `r${size - i - 1}` })) } }],
    }),
  ),
  created('keys of labels to match and not to match', pods, (size) => {
    const keys = times(size, (i) => `k${i}`)
    const labelSelector = { matchExpressions: keys.map((key) => ({ key: `a${key}`, operator: 'Exists' })) }
    const topologyKey = 'a'
    return pod({
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector, matchLabelKeys: keys },
      ],
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              topologyKey,
              labelSelector: {},
              matchLabelKeys: keys,
              mismatchLabelKeys: times(size, (i) => `m${i}`),
            },
          ],
        },
      },
    })
  }),
  {
    name: 'tolerations of a pod and of its runtime class',
    work(size) {
      const path = '/apis/node.k8s.io/v1/runtimeclasses'
      const tolerations = (letter: string) => times(size, (i) => ({ key: `${letter}${i}`, operator: 'Exists' }))
      return {
        before: [post(path, { metadata: meta, handler: 'a', scheduling: { tolerations: tolerations('a') } })],
        measured: [post(pods, pod({ runtimeClassName: 'large', tolerations: tolerations('b') }))],
        after: [remove(`${pods}/large`), remove(`${path}/large`)],
      }
    },
  },
  {
    name: 'containers where a namespace enforces a pod security standard',
    work: (size) => ({
      before: [
        patch('/api/v1/namespaces/default', {
          metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
        }),
      ],
      measured: [
        post(
          pods,
          pod({ containers: containers(size, (i) => ({ ports: [{ containerPort: i + 1, hostPort: i + 1 }] })) }),
        ),
      ],
      after: [
        patch('/api/v1/namespaces/default', { metadata: { labels: { 'pod-security.kubernetes.io/enforce': null } } }),
        remove(`${pods}/large`),
      ],
    }),
  },
  {
    name: 'resources of a quota and of a pod',
    work(size) {
      const amounts = (prefix: string) => Object.fromEntries(times(size, (i) => [`${prefix}example.com/r${i}`, '1']))
      const quota = {
        metadata: meta,
        spec: { hard: amounts('requests.') },
        status: { hard: amounts('requests.'), used: amounts('requests.') },
      }
      const resources = { requests: amounts(''), limits: amounts('') }
      const path = `${core}/resourcequotas`
      return {
        before: [post(path, quota), patch(`${path}/large/status`, statusOf(quota))],
        measured: [post(pods, pod({ containers: [{ ...container, resources }] }))],
        after: [remove(`${path}/large`), remove(`${pods}/large`)],
      }
    },
  },
  {
    name: 'limits of a range, and of a container',
    work(size) {
      const path = `${core}/limitranges`
      const amounts = (amount: string, more = 0) =>
        Object.fromEntries(times(size, (i) => [`example.com/r${i + more}`, amount]))
      const limits = [{ type: 'Container', max: amounts('2'), min: amounts('1'), default: amounts('1', size / 2) }]
      const resources = { limits: amounts('1'), requests: amounts('1') }
      return {
        before: [post(path, { metadata: meta, spec: { limits } })],
        measured: [post(pods, pod({ containers: [{ ...container, resources }] }))],
        after: [remove(`${path}/large`), remove(`${pods}/large`)],
      }
    },
  },
]
