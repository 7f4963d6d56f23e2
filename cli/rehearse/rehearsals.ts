import { type DeathOptions, dieTogether, type Task } from './die-together.ts'
import { inRounds, Lanes } from './lanes.ts'
import type { Done } from './progress.ts'
import {
  badFaults,
  type Fault,
  type Finding,
  isBad,
  type Rehearsal,
  type WorkloadReport,
  worstFirst,
} from './report.ts'
import type { Stages } from './stage/stages.ts'
import { type Pace, withoutDoubtfulNotes } from './verdict/doubt.ts'
import { checkManifest } from './verdict/manifest-checks.ts'
import { ways } from './ways.ts'
import { sharedThings, type Workload } from './workload.ts'

export interface RehearsalsOptions extends Omit<DeathOptions, 'stage'> {
  stages: Stages
  /** Holds the speed of the cluster's time, as a multiple of the machine's. */
  timeScale: number
  /** Number of pods that are shut down at the same time. */
  jobs: number
  onProgress(done: Done): void
}

/** Faults that hold for every way of a workload, and are reported once. */
const forAllWays: readonly Fault[] = ['refused', 'unknown-image', 'ends-by-itself']
export const REAL_TIME = 1

/** Shuts down pods and keeps the result of each death. */
export class Rehearsals {
  readonly #options: RehearsalsOptions
  readonly #found = new Map<Task, Rehearsal>()
  readonly #refused = new Map<Workload, Finding>()

  constructor(options: RehearsalsOptions) {
    this.#options = options
  }

  get(task: Task): Rehearsal | undefined {
    return this.#found.get(task)
  }

  of(workload: Workload): Rehearsal[] {
    return [...this.#found].flatMap(([task, rehearsal]) => (task.workload === workload ? rehearsal : []))
  }

  forget(task: Task): void {
    this.#found.delete(task)
  }

  /**
   * Shuts down the pods of the tasks: first for the ways of single pods, then for those of a node, one after the other.
   */
  async let(tasks: readonly Task[], timeScale: number): Promise<void> {
    const { stages, jobs } = this.#options
    if (tasks.length === 0) return
    const options = { ...this.#options, stage: await stages.at(timeScale) }
    const die = async (some: readonly Task[]): Promise<void> => {
      for (const [task, rehearsal] of await dieTogether(some, options)) this.#keep(task, rehearsal)
    }
    const lanes = new Lanes(jobs)
    await Promise.all(
      tasks
        .filter(({ way }) => way.scope === 'pod')
        .map((task) =>
          lanes.run(sharedThings(task.workload), async () => {
            if (!this.#refused.has(task.workload)) await die([task])
          }),
        ),
    )
    for (const way of ways.filter(({ scope }) => scope === 'node')) {
      const meant = tasks.filter((task) => task.way === way && !this.#refused.has(task.workload))
      for (const round of inRounds(meant, jobs, ({ workload }) => sharedThings(workload))) await die(round)
    }
  }

  report(workload: Workload, tasks: readonly Task[]): WorkloadReport {
    const { name, file } = workload
    const refusal = this.#refused.get(workload)
    const isOwn = (task: Task): boolean => task.workload === workload
    return {
      name,
      file,
      manifest: [...checkManifest(workload), ...(refusal ? [refusal] : [])],
      rehearsals: refusal ? [] : tasks.filter(isOwn).flatMap((task) => this.#told(task) ?? []),
    }
  }

  #told(task: Task): Rehearsal | undefined {
    const own = this.get(task)
    if (!own) return undefined
    const others = this.of(task.workload)
    const findings = asNoted(own.findings, others.find(({ way }) => way === task.way.like)?.findings)
    const known = others.flatMap((other) => badFaults(other.findings))
    return { ...own, findings: withoutDoubtfulNotes(task, { ...own, findings }, { ...this.#pace(own), known }) }
  }

  #pace({ inRealTime }: Rehearsal): Pace {
    return { ...this.#options, scale: inRealTime ? REAL_TIME : this.#options.timeScale }
  }

  #keep(task: Task, seen: Rehearsal): void {
    const { workload } = task
    const rehearsal: Rehearsal = this.#found.has(task) ? { ...seen, inRealTime: true } : seen
    const refusal = rehearsal.findings.find(({ fault }) => forAllWays.includes(fault))
    if (refusal) this.#refused.set(workload, refusal)
    else this.#found.set(task, rehearsal)
    const findings = withoutDoubtfulNotes(task, rehearsal, { ...this.#pace(rehearsal), known: [] })
    this.#options.onProgress({ workload: workload.name, rehearsal: { ...rehearsal, findings } })
  }
}

/** Returns the findings, the worst first. A fault that is bad in the similar way, too, becomes a note. */
function asNoted(findings: readonly Finding[], inOther: readonly Finding[] = []): Finding[] {
  const isKnown = ({ fault, container }: Finding): boolean =>
    inOther.some((other) => isBad(other) && other.fault === fault && other.container === container)
  return worstFirst(findings.map((found) => (isKnown(found) ? { ...found, severity: 'note' } : found)))
}
