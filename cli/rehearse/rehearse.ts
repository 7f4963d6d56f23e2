import type { Task } from './die-together.ts'
import { REAL_TIME, Rehearsals, type RehearsalsOptions } from './rehearsals.ts'
import { badFaults, type Fault, type Finding, isBad, type WorkloadReport } from './report.ts'
import { doubtsOf } from './verdict/doubt.ts'
import { ways } from './ways.ts'
import { podGraceSeconds, type Workload } from './workload.ts'

export interface RehearseOptions extends RehearsalsOptions {
  workloads: readonly Workload[]
  /** Names; all of them when empty. */
  wanted: readonly string[]
  /** A death that may take longer than this many milliseconds is not tried in real time. */
  realTimeLimit: number
}

/**
 * Shuts each workload down in each way, in parallel where they do not conflict; repeats inconclusive results in real
 * time.
 */
export async function rehearse(options: RehearseOptions): Promise<WorkloadReport[]> {
  const { workloads, wanted, timeScale } = options
  const tasks = workloads.flatMap((workload) =>
    ways
      .filter((way) => (wanted.length === 0 || wanted.includes(way.name)) && (way.applies?.(workload) ?? true))
      .map((way): Task => ({ workload, way })),
  )
  const rehearsals = new Rehearsals(options)
  const isMeasured = ({ way, workload }: Task): boolean =>
    way.measuresGrace === true && rehearsals.of(workload).some(({ findings }) => findings.some(lacksTime))
  await rehearsals.let(
    tasks.filter(({ way }) => !way.measuresGrace),
    timeScale,
  )
  await rehearsals.let(tasks.filter(isMeasured), timeScale)
  await confirm(
    rehearsals,
    tasks.filter(({ way }) => !way.measuresGrace),
    options,
  )
  await confirm(rehearsals, tasks.filter(isMeasured), options)
  for (const task of tasks) if (task.way.measuresGrace && !isMeasured(task)) rehearsals.forget(task)
  return workloads.map((workload) => rehearsals.report(workload, tasks))
}

const shortOfTime: readonly Fault[] = ['goes-on-after-term', 'hook-overruns']
const lacksTime = (finding: Finding): boolean => isBad(finding) && shortOfTime.includes(finding.fault)

/**
 * Repeats inconclusive shutdowns in real time. If several shutdowns of a workload have the same faults and doubts, only
 * the
 * first is repeated, unless its result differs.
 */
async function confirm(
  rehearsals: Rehearsals,
  tasks: readonly Task[],
  { realTimeLimit, timeScale, ...options }: RehearseOptions,
): Promise<void> {
  const pace = { ...options, scale: timeScale }
  const alike = new Map<string, Task[]>()
  for (const task of tasks) {
    const rehearsal = rehearsals.get(task)
    const doubts = rehearsal ? doubtsOf(task, rehearsal, pace) : []
    if (!rehearsal || doubts.length === 0) continue
    const own = podGraceSeconds(task.workload)
    rehearsal.inDoubt = true
    if ((task.way.graceSeconds?.(own) ?? own) * 1000 > realTimeLimit) continue
    const found = badFaults(rehearsal.findings)
    const kind = `${options.workloads.indexOf(task.workload)} ${task.way.measuresGrace ?? false} ${doubts} ${found}`
    alike.set(kind, [...(alike.get(kind) ?? []), task])
  }
  const groups = [...alike.values()]
  const faultsNow = (task: Task): string => String(badFaults(rehearsals.get(task)?.findings ?? []))
  const before = new Map(groups.flat().map((task) => [task, faultsNow(task)]))
  await rehearsals.let(
    groups.flatMap(([first]) => first ?? []),
    REAL_TIME,
  )
  const others = groups.flatMap(([first, ...rest]) => {
    if (!first || faultsNow(first) !== before.get(first)) return rest
    for (const task of rest) delete rehearsals.get(task)?.inDoubt
    return []
  })
  await rehearsals.let(others, REAL_TIME)
}
