import type { Pod, PodSpec } from '../../shared/api/types.ts'
import { podOf } from '../harness/pods.ts'

/** Pods by which who may only create pods could harm others, and what becomes of each pod instead. */
export interface Attack {
  name: string
  pods(places: Places): Pod[]
  /** True when the attack has had its effect, or has none. */
  isOver(pod: Pod, events: readonly string[]): boolean
}

export interface Places {
  /** A server of the machine that accepts and never answers. */
  silentPort: number
}

const sleep = ['sleep', '100000']
const sh = (script: string): string[] => ['sh', '-c', script]
const times = <Item>(count: number, item: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => item(i))
const statuses = ({ status }: Pod) => status?.containerStatuses ?? []
const waits =
  (reason: string, message: RegExp) =>
  (pod: Pod): boolean =>
    statuses(pod).some(({ state, lastState }) => {
      const { waiting, terminated = lastState?.terminated } = state ?? {}
      const isMeant = waiting === undefined || [reason, 'CrashLoopBackOff'].includes(waiting.reason ?? '')
      return isMeant && message.test(`${waiting?.message} ${terminated?.message}`)
    })
const tooLong = waits('RunContainerError', /argument list too long/)
const runs = (pod: Pod): boolean =>
  statuses(pod).length > 0 && statuses(pod).every(({ state }) => state?.running || state?.terminated)
const ended =
  (exitCode: number) =>
  (pod: Pod): boolean =>
    statuses(pod).some(({ state }) => state?.terminated?.exitCode === exitCode)
const one = (
  name: string,
  command: string[],
  more: Partial<PodSpec['containers'][0]>,
  spec?: Partial<PodSpec>,
): Pod[] => {
  const pod = podOf({ name, command, spec: { terminationGracePeriodSeconds: 1, restartPolicy: 'Never', ...spec } })
  return [{ ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map((main) => ({ ...main, ...more })) } }]
}
const annotated = (pods: Pod[]): Pod[] =>
  pods.map((pod) => ({ ...pod, metadata: { ...pod.metadata, annotations: { large: 'x'.repeat(250_000) } } }))
const fieldRef = { fieldPath: 'metadata.annotations' }

const environment: Attack[] = [
  {
    name: 'variables that each contain the one before, 50 MB in all',
    pods: () =>
      one('chain', sleep, {
        env: [
          { name: 'V0', value: 'x'.repeat(10_000) },
          ...times(5_000, (index) => ({ name: `V${index + 1}`, value: `$(V${index})` })),
        ],
      }),
    isOver: tooLong,
  },
  {
    name: 'variables that double 27 times',
    pods: () =>
      one('doubling', sleep, {
        env: [
          { name: 'V0', value: '0123456789abcdef' },
          ...times(27, (index) => ({ name: `V${index + 1}`, value: `$(V${index})$(V${index})` })),
        ],
      }),
    isOver: tooLong,
  },
  {
    name: 'references that never end, in arguments',
    pods: () => one('open', ['true', '$('.repeat(500_000)], {}),
    isOver: tooLong,
  },
  { name: 'arguments of 1 MB of tabs', pods: () => one('tabs', ['true', '\t'.repeat(1_000_000)], {}), isOver: tooLong },
  {
    name: 'annotations in 5,000 variables',
    pods: () =>
      annotated(
        one('annotated', sleep, {
          env: times(5_000, (index) => ({
            name: `A${index}`,
            valueFrom: { fieldRef: { fieldPath: "metadata.annotations['large']" } },
          })),
        }),
      ),
    isOver: tooLong,
  },
]

const volumes: Attack[] = [
  {
    name: 'annotations in 10,000 files of a volume',
    pods: () =>
      annotated(
        one(
          'files',
          sleep,
          { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
          {
            volumes: [
              { name: 'v', downwardAPI: { items: times(10_000, (index) => ({ path: `f${index}`, fieldRef })) } },
            ],
          },
        ),
      ),
    isOver: (_, events) => events.some((text) => text.includes('the files that the kubelet writes')),
  },
  {
    name: '20,000 mounts of one volume at long paths',
    pods: () =>
      one(
        'mounts',
        sleep,
        { volumeMounts: times(20_000, (index) => ({ name: 'v', mountPath: `/${'x'.repeat(120)}${index}` })) },
        { volumes: [{ name: 'v', emptyDir: {} }] },
      ),
    isOver: runs,
  },
  {
    name: 'files that lie in no volume',
    pods: () =>
      one(
        'large-files',
        sh(`for file in termination-log ../etc/hosts; do
      dd if=/dev/zero of=/dev/$file bs=1M count=300 conv=notrunc oflag=append & done; wait; exit 7`),
        {},
      ),
    isOver: ended(7),
  },
  {
    name: 'shared memory without end',
    pods: () => one('shm', sh('dd if=/dev/zero of=/dev/shm/large bs=1M count=200 || exit 8'), {}),
    isOver: ended(8),
  },
]

const processes: Attack[] = [
  {
    name: 'System V shared memory of others is removed',
    pods: () =>
      one(
        'ipc',
        ['perl', '-e', 'shmctl($_, 0, 0) for map { (split)[1] } grep { /\\d/ } `cat /proc/sysvipc/shm`; exit 9'],
        {},
      ),
    isOver: ended(9),
  },
  { name: 'signals to all processes', pods: () => one('signals', sh('kill -9 -1; exit 10'), {}), isOver: ended(10) },
  {
    name: '200 containers in one pod',
    pods: () =>
      one(
        'many',
        sleep,
        {},
        { containers: times(200, (index) => ({ name: `c${index}`, image: 'busybox:1.37', command: sleep })) },
      ),
    isOver: runs,
  },
  {
    name: 'hooks whose requests are never answered',
    pods: ({ silentPort }) =>
      times(10, (index) =>
        one(`hook${index}`, sleep, {
          lifecycle: { preStop: { httpGet: { host: '127.0.0.1', port: silentPort } } },
        }),
      ).flat(),
    isOver: runs,
  },
]

export const attacks: readonly Attack[] = [...environment, ...volumes, ...processes]
