/**
 * Plays a transcript: a pod, what its programs do, and what a user does when; and writes down, in the API's words and with the
 * seconds of the virtual clock, everything that the kubelet tells and does.
 */

import { evictionConfig, evictionOptions } from '../../kubelet/eviction/options.ts'
import type { Signal } from '../../kubelet/eviction/signals.ts'
import { parseAmount } from '../../kubelet/eviction/thresholds.ts'
import { type KubeletOptions, startKubelet } from '../../kubelet/kubelet.ts'
import type { NodeControls } from '../../kubelet/node/node-controls.ts'
import { type Behaviour, createSimulatedRuntime, type SimulatedExec } from '../../kubelet/runtime/simulated.ts'
import type { Pod } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import type { Values } from '../../shared/config/option.ts'
import { createMemoryApi, type Write } from './memory-api.ts'
import { simulatedActions } from './simulated-actions.ts'

export interface Scenario {
  pod: { metadata?: Partial<Pod['metadata']>; spec: Pod['spec'] }
  /** By container name. */
  programs?: Record<string, Behaviour>
  /** By the first word of the command. */
  commands?: Record<string, SimulatedExec>
  /** `at` seconds after the pod's creation: `{ at: 2, delete: { reason: 'Update' } }`. */
  user: Deed[]
  untilSeconds: number
  /** How this kubelet differs from the usual one. */
  kubelet?: Pick<KubeletOptions, 'probeGracePeriods' | 'shortenRunningKills' | 'terminationReasons' | 'shutdownGroups'>
  /** Settings of its evictions, as options name them. */
  eviction?: Partial<Values<typeof evictionOptions>>
}
interface Deed {
  at: number
  delete?: object
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
  const say = (text: string) => lines.push(`${((clock.monotonic() - beginMs) / 1000).toFixed(1).padStart(6)} ${text}`)
  const runtime = createSimulatedRuntime({
    clock,
    behaviour: ({ name }) => scenario.programs?.[name] ?? {},
    exec(container, command, env) {
      const variables = Object.entries(env).map(([name, value]) => `${name}=${value} `)
      say(`${container.name}: exec ${variables.join('')}${command.join(' ')}`)
      return scenario.commands?.[command[0] ?? ''] ?? {}
    },
    onSignal: (container, signal) => say(`${container.name}: ${signal}`),
  })
  runtime.onEvent(({ type, containerId }) => {
    void runtime.list().then(({ containers }) => {
      const record = containers.find(({ id }) => id === containerId)
      if (record) say(`${record.name}: ${type}${type === 'exited' ? ` ${record.exitCode}` : ''}`)
    })
  })
  api.onWrite((write) => {
    const text = describe(write)
    if (text) say(text)
  })
  const kubelet = await startKubelet({
    client: api.client,
    clock,
    runtime,
    rootDir,
    actions: simulatedActions(clock, say),
    log: {
      info() {},
      warn: (fields, message) => say(`log: ${message} ${String((fields as { err?: unknown }).err ?? '')}`),
      error() {},
    },
    nodeName: 'n1',
    nodeIP: '127.0.0.1',
    port: 10250,
    random: () => 0,
    eviction: evictionConfig({ ...evictionDefaults, ...scenario.eviction }),
    observe: async () => ({ 'memory.available': free, 'nodefs.available': free, 'pid.available': free }),
    ...scenario.kubelet,
  })
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
    act(deed)
  }
  await clock.advance(scenario.untilSeconds * 1000 - (clock.monotonic() - beginMs))
  const told = lines.length
  const closed = kubelet.close()
  await clock.advance(5_000)
  await closed
  return lines.slice(0, told)

  function act({ node, pressure, delete: options = {} }: Deed): void {
    if (node) {
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
/** Half of all that such a machine has. */
const free = { available: 500 * 1024 ** 2, capacity: 1000 * 1024 ** 2 }

function describe({ verb, plural, object, body }: Write): string | undefined {
  if (plural === 'events') {
    const event = object as unknown as { type: string; reason: string; message: string; count: number }
    return `event: ${event.type} ${event.reason}: ${event.message}${event.count > 1 ? ` (x${event.count})` : ''}`
  }
  if (plural !== 'pods' || (verb === 'create' && plural === 'pods')) return undefined
  if (verb === 'delete') return `pod: DELETE ${JSON.stringify(body)}`.replace(/"uid":"[^"]*"/, '"uid":"…"')
  return `status: ${statusLine(object as unknown as Pod)}`
}

function statusLine({ status = {}, metadata }: Pod): string {
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(
    ({ name, state = {}, ready, restartCount }) => {
      const text = state.running
        ? 'running'
        : state.terminated
          ? `terminated(${state.terminated.reason} ${state.terminated.exitCode})`
          : `waiting(${state.waiting?.reason})`
      return `${name}=${text}${ready ? ' ready' : ''}${restartCount ? ` restarts ${restartCount}` : ''}`
    },
  )
  const conditions = (status.conditions ?? [])
    .filter(({ status }) => status === 'True')
    .map(({ type }) => type)
    .filter((type) => type !== 'PodScheduled')
  return `${[status.phase, status.reason].filter(Boolean).join(' ')} · ${containers.join(', ')} · ${conditions.join(' ') || '-'} · observed ${status.observedGeneration}/${metadata.generation}`
}
