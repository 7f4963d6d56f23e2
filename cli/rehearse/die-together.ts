import { StatusError } from '../../shared/api/status/status-error.ts'
import type { LoadSummary } from './load/load-summary.ts'
import { NotRehearsed, RehearsedPod } from './rehearse-pod.ts'
import type { Finding, Rehearsal } from './report.ts'
import type { Stage } from './stage/stage.ts'
import { type Observation, stopsOf } from './verdict/observation.ts'
import type { Thresholds } from './verdict/thresholds.ts'
import { judge } from './verdict/verdict.ts'
import type { Way } from './ways.ts'
import type { Workload } from './workload.ts'

/** A workload that is to die in a way. */
export interface Task {
  workload: Workload
  way: Way
}

export interface DeathOptions {
  stage: Stage
  thresholds: Thresholds
  /** Counts milliseconds of the machine. */
  readyTimeoutMs: number
  /** Counts milliseconds of the cluster. */
  endpointDelayMs: number
}

/** Pods of one way, that happens to all of them at once: what was found out of each. */
export async function dieTogether(tasks: readonly Task[], options: DeathOptions): Promise<Map<Task, Rehearsal>> {
  const { stage } = options
  const results = new Map<Task, Rehearsal>()
  const pods = new Map(tasks.map((task) => [task, new RehearsedPod({ ...options, ...task })]))
  const [way] = tasks.map((task) => task.way)
  try {
    const ready = (
      await Promise.all(
        [...pods].map(async ([task, pod]) => {
          try {
            await pod.start()
            return [[task, pod] as const]
          } catch (error) {
            if (!(error instanceof NotRehearsed)) throw error
            results.set(task, undone(task, error.finding))
            await pod.clear()
            return []
          }
        }),
      )
    ).flat()
    if (ready.length === 0) return results
    const cancelled = new AbortController()
    const seen = ready.map(([task, pod]) =>
      pod.observe(cancelled.signal).then((observation) => [task, observation] as const),
    )
    try {
      const targets = ready.map(([, pod]) => pod.ref)
      await way?.act(stage, targets)
    } catch (error) {
      cancelled.abort()
      await Promise.all(seen)
      if (!(error instanceof StatusError)) throw error
      const says = `the API refuses it: ${error.message}`
      for (const [task] of ready) results.set(task, undone(task, { fault: 'cannot-be-done', severity: 'note', says }))
      return results
    }
    for (const [task, observation] of await Promise.all(seen)) results.set(task, told(task, observation, options))
    await way?.undo?.(stage)
    return results
  } finally {
    await Promise.all([...pods.values()].map((pod) => pod.clear()))
  }
}

const requestsOf = ({ sent, lost, cut, slowestSeconds }: LoadSummary): Rehearsal['requests'] => ({
  sent,
  lost,
  cut,
  slowestSeconds,
})

const undone = ({ way }: Task, finding: Finding): Rehearsal => ({
  way: way.name,
  hook: 'none',
  exitCodes: [],
  findings: [finding],
})

function told({ way, workload }: Task, seen: Observation, { thresholds }: DeathOptions): Rehearsal {
  const stops = stopsOf(seen)
  const [longest] = stops.toSorted((a, b) => b.usedSeconds - a.usedSeconds)
  const hooks = stops.flatMap(({ hook }) => hook ?? [])
  const worst = hooks.find(({ outcome }) => outcome !== 'Succeeded') ?? hooks[0]
  return {
    way: way.name,
    reason: worst && seen.termination?.reason,
    hook: (worst?.outcome as Rehearsal['hook'] | undefined) ?? 'none',
    usedSeconds: seen.termination && longest?.usedSeconds,
    graceSeconds: seen.termination && longest?.graceSeconds,
    exitCodes: way.judges ? [] : stops.flatMap(({ exitCode }) => exitCode ?? []),
    requests: seen.load && requestsOf(seen.load),
    findings: judge(way, workload, seen, thresholds),
    seen: { termination: seen.termination, pod: seen.pod, loads: seen.loads },
  }
}
