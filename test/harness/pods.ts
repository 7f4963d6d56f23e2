import { readFileSync } from 'node:fs'
import { get } from 'node:https'
import { text } from 'node:stream/consumers'
import { markedProcesses } from '../../kubelet/runtime/process/marker.ts'
import type { EnvVar, Pod, PodSpec, PreStopHandler, Probe, WatchEvent } from '../../shared/api/types.ts'
import type { Client, ObjectRef } from '../../shared/client/client.ts'
import { pods } from '../../shared/client/resources.ts'
import type { TestCluster } from './cluster.ts'
import { until } from './until.ts'

export interface PodOptions {
  name: string
  command: string[]
  image?: string
  env?: EnvVar[]
  preStop?: PreStopHandler
  readinessProbe?: Probe
  /** A folder of the machine that the container sees at the same path, to leave something there. */
  hostFolder?: string
  spec?: Partial<PodSpec>
}

/** A pod of one container, `main`. */
export function podOf({
  name,
  command,
  image = 'busybox:1.37',
  env,
  preStop,
  readinessProbe,
  hostFolder,
  spec,
}: PodOptions): Pod {
  const lifecycle = preStop && { preStop }
  const volumeMounts = hostFolder ? [{ name: 'host', mountPath: hostFolder }] : []
  const volumes = hostFolder ? [{ name: 'host', hostPath: { path: hostFolder } }] : []
  return {
    metadata: { name },
    spec: {
      containers: [{ name: 'main', image, command, env, lifecycle, readinessProbe, volumeMounts }],
      volumes,
      ...spec,
    },
  }
}

/** Runs until told to stop, then ends with 0. A caller that stops it at once waits for its handler first ({@link untilHandled}). */
export const politeScript = 'trap "exit 0" TERM; while :; do sleep 0.05; done'
/** Writes `bye` into the file when it is asked to end. */
export const byeScript = (file: string): string =>
  `trap 'echo bye > ${file}; exit 0' TERM; while :; do sleep 0.05; done`
/** Ends only by SIGKILL. */
export const deafScript = 'trap "" TERM; while :; do sleep 0.05; done'

export interface FollowedPod {
  /** All events so far. */
  events: WatchEvent<Pod>[]
  until(condition: (pod: Pod) => boolean, what: string): Promise<Pod>
  /** Resolves to all events when the last of them is DELETED. */
  untilDeleted(): Promise<WatchEvent<Pod>[]>
}

/** Watches an existing pod; resolves when the watch has shown it. */
export async function followPod(client: Client, { namespace, name }: Required<ObjectRef>): Promise<FollowedPod> {
  const events: WatchEvent<Pod>[] = []
  let failure: unknown
  collect().catch((error) => {
    failure = error // thrown to the waiting test; a test that killed the server waits no more
  })
  const seen = async (
    condition: (event: WatchEvent<Pod>) => boolean,
    what: string,
    timeoutMs?: number,
  ): Promise<Pod> => {
    const found = (): WatchEvent<Pod> | undefined => {
      const event = events.find(condition)
      if (!event && failure) throw failure
      return event
    }
    return (await until(found, { what: `pod ${name} ${what}`, timeoutMs })).object
  }
  await seen(() => true, 'to appear')
  return {
    events,
    until: (condition, what) => seen(({ object }) => condition(object), what),
    async untilDeleted() {
      await seen(({ type }) => type === 'DELETED', 'to be deleted')
      return events
    },
  }

  async function collect(): Promise<void> {
    const fieldSelector = `metadata.name=${name}`
    for await (const event of client.watch<Pod>(pods, { namespace, fieldSelector })) {
      events.push(event)
      if (event.type === 'DELETED') return
    }
  }
}

const termBit = 1n << 14n

/** Resolves when each running container has a process that handles TERM, or ignores it: a shell runs for a moment before its trap is set. */
export async function untilHandled({ metadata, status }: Pod): Promise<void> {
  const ids = (status?.containerStatuses ?? [])
    .filter(({ state }) => state?.running)
    .map(({ containerID = '' }) => containerID.slice(containerID.lastIndexOf('/') + 1))
  const areHandled = (): boolean => {
    const processes = [...markedProcesses()]
    return ids.every((id) => processes.some(([mark, pids]) => mark.endsWith(`:${id}`) && pids.some(handlesTerm)))
  }
  await until(areHandled, { what: `the handlers of ${metadata.name}` })
}

function handlesTerm(pid: number): boolean {
  try {
    const masks = readFileSync(`/proc/${pid}/status`, 'utf8').matchAll(/^Sig(?:Cgt|Ign):\s+([0-9a-f]+)$/gm)
    return [...masks].some(([, mask]) => (BigInt(`0x${mask}`) & termBit) !== 0n)
  } catch {
    return false // gone meanwhile
  }
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

/** `/api/v1/namespaces/default/pods/web/log?…` and the like: the answer's text. */
export function getText({ access }: Pick<TestCluster, 'access'>, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { server, ca, cert, key } = access
    get(server + path, { ca, cert, key }, (response) => text(response).then(resolve, reject)).on('error', reject)
  })
}
