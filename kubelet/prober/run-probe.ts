import type { Container, PodStatus, Probe } from '../../shared/api/types.ts'
import type { ActionHandler, ActionResult } from '../actions/action.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { Expander, TooLongError } from '../pod/expansion.ts'
import { type ProbeResult, titleOf } from '../pod/probe-types.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import type { AnswerCheck } from './answer-check.ts'
import type { ProbeRun } from './probe-run.ts'

export interface ProbeRunOptions {
  runtime: ContainerRuntime
  events: EventRecorder
  actions: ActionHandler
  status(podUid: string): PodStatus | undefined
  isEnding(podUid: string): boolean
  answers: AnswerCheck
}

const PROBE_USER_AGENT = 'kube-probe/1.36'
const TRIES = 3

/**
 * Returns the function that runs a probe once and writes an event if it fails. An action that could not be carried out
 * is retried; if that fails too, the run has no result.
 */
export function createRunProbe(options: ProbeRunOptions): (run: ProbeRun) => Promise<ProbeResult | undefined> {
  const { actions, runtime, events, answers } = options

  const podIPOf = ({ pod }: Pick<ProbeRun, 'pod'>): string => options.status(pod.metadata.uid ?? '')?.podIP ?? ''

  async function once({ pod, container, probe, containerId, signal }: ProbeRun): Promise<ActionResult> {
    const podIP = podIPOf({ pod })
    // Upstream runs commands on a context that ends with the pod's deletion.
    if (probe.exec && options.isEnding(pod.metadata.uid ?? '')) {
      return { outcome: 'error', output: '', message: 'rpc error: code = Canceled desc = context canceled' }
    }
    const action = withExpandedCommand(container, probe)
    if (action instanceof TooLongError) return { outcome: 'error', output: '', message: action.message }
    return actions.run(
      action,
      { runtime, containerId, podIP, ports: container.ports ?? [] },
      { timeoutMs: (probe.timeoutSeconds ?? 1) * 1000, userAgent: PROBE_USER_AGENT, purpose: 'probe', signal },
    )
  }

  const tell = ({ pod, container, type }: ProbeRun, reason: string, what: string) =>
    events.podEvent(pod, container.name, 'Warning', reason, `${titleOf(type)} ${what}`)

  return async (run) => {
    let result = await once(run)
    for (let tries = 1; result.outcome === 'error' && tries < TRIES && !run.signal.aborted; tries++)
      result = await once(run)
    if (run.signal.aborted) return undefined
    const outsider = result.outcome === 'success' ? await answers.problem(run, podIPOf(run)) : undefined
    if (result.outcome === 'success' && !outsider) {
      if (result.warning) {
        const warning = `${titleOf(run.type)} probe warning: ${result.warning}`
        events.podEvent(run.pod, run.container.name, 'Warning', 'ProbeWarning', warning)
      }
      return 'success'
    }
    answers.failed(run)
    const unknown = result.outcome === 'error'
    const what = unknown ? 'probe errored and resulted in unknown state' : 'probe failed'
    tell(run, 'Unhealthy', `${what}: ${outsider ?? result.message}`)
    return unknown ? undefined : 'failure'
  }
}

/**
 * Expands the variables of the command. Only variables written out in the spec are known here; a variable with
 * `valueFrom` counts as empty.
 */
function withExpandedCommand(container: Container, probe: Probe): Probe | TooLongError {
  const command = probe.exec?.command
  if (!command?.some((word) => word.includes('$'))) return probe
  const env = new Map<string, string>()
  const expander = new Expander()
  const expand = (text: string): string => expander.expand(text, (key) => env.get(key))
  try {
    for (const { name, value } of container.env ?? []) env.set(name, expand(value ?? ''))
    return { ...probe, exec: { command: command.map(expand) } }
  } catch (error) {
    if (error instanceof TooLongError) return error
    throw error
  }
}
