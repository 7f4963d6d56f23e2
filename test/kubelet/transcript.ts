/**
 * Plays a transcript: a pod, what its programs do, and what a user does when; and writes down, in the API's words and with the
 * seconds of the virtual clock, everything that the kubelet tells and does.
 */

import { evictionConfig, evictionOptions } from '../../kubelet/eviction/options.ts'
import type { Signal } from '../../kubelet/eviction/signals.ts'
import { parseAmount } from '../../kubelet/eviction/thresholds.ts'
import { startKubelet } from '../../kubelet/kubelet.ts'
import type { KubeletOptions } from '../../kubelet/kubelet-options.ts'
import type { NodeControls } from '../../kubelet/node/node-controls.ts'
import type { ImageError } from '../../kubelet/runtime/container-runtime.ts'
import { type Behaviour, createSimulatedRuntime, type SimulatedExec } from '../../kubelet/runtime/simulated.ts'
import type { Termination } from '../../shared/api/termination.ts'
import type { Pod } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import type { Values } from '../../shared/config/option.ts'
import { createMemoryApi, type Write } from './memory-api.ts'
import { simulatedActions } from './simulated-actions.ts'

export interface Scenario {
  pod: { metadata?: Partial<Pod['metadata']>; spec: Pod['spec'] }
  /** By container name; of several each is one instance's, the last also of all that follow. */
  programs?: Record<string, Behaviour | Behaviour[]>
  /** By the first word of the command; of several each is for one run, the last also for all that follow. */
  commands?: Record<string, SimulatedExec | SimulatedExec[]>
  /** Why an image cannot be had, by its name. */
  images?: Record<string, ImageError['reason']>
  /** `at` seconds after the pod's creation: `{ at: 2, delete: { reason: 'Update' } }`. */
  user: Deed[]
  untilSeconds: number
  /** How this kubelet differs from the usual one. */
  kubelet?: Pick<KubeletOptions, 'crashLoopBackOff' | 'featureGates' | 'shortenRunningKills' | 'shutdownGroups'>
  /** Settings of its evictions, as options name them. */
  eviction?: Partial<Values<typeof evictionOptions>>
}
export interface Deed {
  at: number
  delete?: object
  /** Another object appears, by the plural of its kind. */
  create?: { plural: string; name: string; [field: string]: unknown }
  /** A merge patch of the pod, or of its status. */
  patch?: object
  patchStatus?: object
  /** The kubelet is killed, and another starts so many seconds later. */
  restartKubelet?: number
  /** What is done while no kubelet runs. */
  meanwhile?: Omit<Deed, 'at'>
  /** What happens to the machine: `shutDown`, `lose`, `comeBack`. */
  node?: keyof NodeControls
  /** There is only so much left of something; `plenty`: no more. */
  pressure?: { signal: Signal; available: string }
}

export async function play(scenario: Scenario, rootDir: string): Promise<string[]> {
  const clock = createVirtualClock()
  const api = createMemoryApi(clock)
  const lines: string[] = []
  let beginMs = 0
  // UIDs count all objects that were ever made: no story is about that.
  const say = (told: string) => {
    const text = told.replace(/\b0{8}-0{4}-0{4}-0{4}-\d{12}\b/g, '…')
    lines.push(`${((clock.monotonic() - beginMs) / 1000).toFixed(1).padStart(6)} ${text}`)
  }
  const runs = new Map<string, number>()
  const runtime = createSimulatedRuntime({
    clock,
    behaviour: ({ name, attempt }) => nth(scenario.programs?.[name], attempt) ?? {},
    image: (image) => scenario.images?.[image],
    exec(container, command, env) {
      const variables = Object.entries(env).map(([name, value]) => `${name}=${value} `)
      say(`${container.name}: exec ${variables.join('')}${command.join(' ')}`)
      const [word = ''] = command
      runs.set(word, (runs.get(word) ?? -1) + 1)
      return nth(scenario.commands?.[word], runs.get(word) ?? 0) ?? {}
    },
    onSignal: (container, signal) => say(`${container.name}: ${signal}`),
  })
  const listen = () =>
    runtime.onEvent(({ type, containerId }) => {
      void runtime.list().then(({ containers }) => {
        const record = containers.find(({ id }) => id === containerId)
        if (record) say(`${record.name}: ${type}${type === 'exited' ? ` ${record.exitCode}` : ''}`)
      })
    })
  listen()
  api.onWrite((write) => {
    const text = describe(write)
    if (text) say(text)
  })
  const options: KubeletOptions = {
    client: api.client,
    clock,
    runtime,
    rootDir,
    actions: simulatedActions(clock, say),
    log: {
      info() {},
      warn: (fields, message) => say(`log: ${message} ${String((fields as { err?: unknown }).err ?? '')}`),
      error: (_fields, message) => say(`error: ${message}`),
    },
    nodeName: 'n1',
    nodeIP: '127.0.0.1',
    port: 10250,
    random: () => 0,
    eviction: evictionConfig({ ...evictionDefaults, ...scenario.eviction }),
    observe: async () => ({ 'memory.available': free, 'nodefs.available': free, 'pid.available': free }),
    ...scenario.kubelet,
  }
  let kubelet = await startKubelet(options)
  await clock.advanceUntil(() => api.object('nodes', 'n1') !== undefined)
  await kubelet.ready
  beginMs = clock.monotonic()
  await api.client.create(
    { group: '', version: 'v1', plural: 'pods' },
    {
      metadata: { name: 'p', ...scenario.pod.metadata },
      spec: { nodeName: 'n1', terminationGracePeriodSeconds: 30, restartPolicy: 'Always', ...scenario.pod.spec },
      status: { phase: 'Pending', qosClass: 'BestEffort' },
    },
    { namespace: 'default' },
  )
  for (const deed of scenario.user) {
    await clock.advance(deed.at * 1000 - (clock.monotonic() - beginMs))
    if (deed.restartKubelet !== undefined) await restartKubelet(deed.restartKubelet, deed.meanwhile)
    else await act(deed)
  }
  await clock.advance(scenario.untilSeconds * 1000 - (clock.monotonic() - beginMs))
  const told = lines.length
  const closed = kubelet.close()
  await clock.advance(5_000)
  await closed
  return lines.slice(0, told)

  async function restartKubelet(downSeconds: number, meanwhile?: Deed['meanwhile']): Promise<void> {
    say('kubelet: ends')
    runtime.forgetCallers()
    listen()
    void kubelet.close()
    if (meanwhile) await act(meanwhile)
    await clock.advance(downSeconds * 1000)
    say('kubelet: starts')
    kubelet = await startKubelet(options)
    let isReady = false
    void kubelet.ready.then(() => {
      isReady = true
    })
    await clock.advanceUntil(() => isReady)
  }

  async function act({
    node,
    pressure,
    create,
    patch,
    patchStatus,
    delete: options = {},
  }: Omit<Deed, 'at'>): Promise<void> {
    if (create) {
      const { plural, name, ...rest } = create
      say(`user: create ${plural}/${name}`)
      const resource = { group: '', version: 'v1', plural }
      await api.client.create(resource, { metadata: { name }, ...rest }, { namespace: 'default' })
    } else if (patch || patchStatus) {
      say(`user: patch ${JSON.stringify(patch ?? { status: patchStatus })}`)
      api.patchPod('p', patch ?? { status: patchStatus })
    } else if (node) {
      say(`node: ${node}`)
      void kubelet.controls[node]()
    } else if (pressure?.available === 'plenty') {
      say(`node: plenty of ${pressure.signal}`)
      kubelet.eviction.release(pressure.signal)
    } else if (pressure) {
      say(`node: ${pressure.signal} ${pressure.available}`)
      kubelet.eviction.induce(pressure.signal, parseAmount(pressure.available))
    } else {
      say(`user: delete ${JSON.stringify(options)}`)
      api.deletePod('p', options)
    }
  }
}

const evictionDefaults = Object.fromEntries(
  Object.entries(evictionOptions).map(([name, { default: value }]) => [name, value]),
) as Values<typeof evictionOptions>
const nth = <T>(list: T | T[] | undefined, index: number): T | undefined =>
  Array.isArray(list) ? (list[index] ?? list.at(-1)) : list

/** Half of all that such a machine has. */
const free = { available: 500 * 1024 ** 2, capacity: 1000 * 1024 ** 2 }

function describe({ verb, plural, object, body }: Write): string | undefined {
  if (plural === 'events') {
    const event = object as unknown as { type: string; reason: string; message: string; count: number }
    return `event: ${event.type} ${event.reason}: ${event.message}${event.count > 1 ? ` (x${event.count})` : ''}`
  }
  if (plural === 'terminations') return `record: ${recordLine(object as unknown as Termination)}`
  if (plural !== 'pods' || (verb === 'create' && plural === 'pods')) return undefined
  if (verb === 'delete') return `pod: DELETE ${JSON.stringify(body)}`
  return `status: ${statusLine(object as unknown as Pod)}`
}

const recordLine = ({ cause, reason, phase, verdict }: Termination): string =>
  [cause, reason && `reason ${reason}`, phase ?? 'goes on', verdict].filter(Boolean).join(' · ')

function statusLine({ status = {}, metadata }: Pod): string {
  const entries = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ]
  const containers = entries.map(({ name, state = {}, ready, restartCount }) => {
    const text = state.running
      ? 'running'
      : state.terminated
        ? `terminated(${state.terminated.reason} ${state.terminated.exitCode})`
        : `waiting(${state.waiting?.reason})`
    return `${name}=${text}${ready ? ' ready' : ''}${restartCount ? ` restarts ${restartCount}` : ''}`
  })
  const conditions = (status.conditions ?? [])
    .filter(({ status }) => status === 'True')
    .map(({ type }) => type)
    .filter((type) => type !== 'PodScheduled')
  const reason = metadata.reason && ` · reason ${metadata.reason}`
  return `${[status.phase, status.reason].filter(Boolean).join(' ')} · ${containers.join(', ')} · ${conditions.join(' ') || '-'} · observed ${status.observedGeneration}/${metadata.generation}${reason ?? ''}`
}
