import { StatusError } from '../../shared/api/status-error.ts'
import { inRounds, Lanes } from './lanes.ts'
import { checkManifest } from './manifest-checks.ts'
import { type Observation, stopsOf } from './observation.ts'
import { NotRehearsed, RehearsedPod } from './rehearse-pod.ts'
import type { Fault, Finding, Rehearsal, WorkloadReport } from './report.ts'
import type { Stage } from './stage.ts'
import type { Thresholds } from './thresholds.ts'
import { judge } from './verdict.ts'
import { type Way, ways } from './ways.ts'
import { sharedThings, type Workload } from './workload.ts'

export interface RehearseOptions {
  stage: Stage
  workloads: readonly Workload[]
  /** Names; all of them when empty. */
  wanted: readonly string[]
  thresholds: Thresholds
  /** Pods at a time. */
  jobs: number
  readyTimeoutMs: number
  endpointDelayMs: number
  onProgress(done: { workload: string; way: string; findings: readonly Finding[] }): void
}

interface Task {
  workload: Workload
  way: Way
}

/** What holds for every way alike, and is said once. */
const forAllWays: readonly Fault[] = ['refused', 'unknown-image', 'ends-by-itself']

/** Lets each workload die in each way, side by side where they do not get in each other's way. */
export async function rehearse(options: RehearseOptions): Promise<WorkloadReport[]> {
  const { workloads, wanted, jobs } = options
  const results = new Map<Task, Rehearsal>()
  const refused = new Map<Workload, Finding>()
  const tasks = workloads.flatMap((workload) =>
    ways
      .filter((way) => (wanted.length === 0 || wanted.includes(way.name)) && (way.applies?.(workload) ?? true))
      .map((way): Task => ({ workload, way })),
  )
  const keep = (task: Task, rehearsal: Rehearsal): void => {
    const refusal = rehearsal.findings.find(({ fault }) => forAllWays.includes(fault))
    if (refusal) refused.set(task.workload, refusal)
    else results.set(task, rehearsal)
    options.onProgress({ workload: task.workload.name, way: task.way.name, findings: rehearsal.findings })
  }
  const lanes = new Lanes(jobs)
  const alone = tasks.filter(({ way }) => way.scope === 'pod' && !way.measuresGrace)
  const run = (some: readonly Task[]): Promise<unknown> =>
    Promise.all(
      some.map((task) =>
        lanes.run(sharedThings(task.workload), async () => {
          if (refused.has(task.workload)) return
          for (const [done, rehearsal] of await together([task], options)) keep(done, rehearsal)
        }),
      ),
    )
  await run(alone)
  const wasKilled = (workload: Workload): boolean =>
    [...results].some(([task, { findings }]) => task.workload === workload && findings.some(lacksTime))
  await run(tasks.filter(({ way, workload }) => way.measuresGrace && wasKilled(workload)))
  for (const way of ways.filter(({ scope }) => scope === 'node')) {
    const meant = tasks.filter((task) => task.way === way && !refused.has(task.workload))
    for (const round of inRounds(meant, jobs, ({ workload }) => sharedThings(workload)))
      for (const [task, rehearsal] of await together(round, options)) keep(task, rehearsal)
  }
  for (const task of tasks) {
    for (let tries = 1; tries < TRIES && isDoubtful(results.get(task), options.stage.clock.scale); tries++)
      for (const [done, rehearsal] of await together([task], options)) keep(done, rehearsal)
  }
  return workloads.map((workload) => ({
    name: workload.name,
    file: workload.file,
    manifest: [...checkManifest(workload), ...(refused.has(workload) ? [refused.get(workload)!] : [])],
    rehearsals: tasks.filter((task) => task.workload === workload).flatMap((task) => results.get(task) ?? []),
  }))
}

const TRIES = 3
/** What may be the machine's fault, where time is faster than its own: how long it took, and who was asked in that time. */
const maybeNoise: readonly Fault[] = ['slow-stop', 'cuts-requests']
/** A grace of less, by the machine's clock, may be over before a program has had its turn. */
const SHORT_SECONDS = 0.5

/** Whether it is to be tried again, with nobody beside it: what is found then counts. */
function isDoubtful(rehearsal: Rehearsal | undefined, scale: number): boolean {
  if (!rehearsal || scale === 1) return false
  const { findings, graceSeconds = 0 } = rehearsal
  const faults = graceSeconds / scale < SHORT_SECONDS ? [...maybeNoise, ...shortOfTime] : maybeNoise
  return findings.some(({ fault, severity }) => severity === 'bad' && faults.includes(fault))
}

const shortOfTime: readonly Fault[] = ['goes-on-after-term', 'hook-overruns']
const lacksTime = ({ fault, severity }: Finding): boolean => severity === 'bad' && shortOfTime.includes(fault)

/** Pods of one way, that happens to all of them at once. */
async function together(tasks: readonly Task[], options: RehearseOptions): Promise<Map<Task, Rehearsal>> {
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

const undone = ({ way }: Task, finding: Finding): Rehearsal => ({
  way: way.name,
  hook: 'none',
  exitCodes: [],
  findings: [finding],
})

function told({ way, workload }: Task, seen: Observation, { thresholds }: RehearseOptions): Rehearsal {
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
    requests: seen.load && { sent: seen.load.sent, lost: seen.load.lost, cut: seen.load.cut },
    findings: judge(way, workload, seen, thresholds),
  }
}
