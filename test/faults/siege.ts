import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import { until as eventually } from '../harness/until.ts'
import { allFaults } from './all.ts'
import type { Fault } from './faults.ts'
import { Ledger } from './ledger.ts'
import { oneOf, randomFrom } from './random.ts'
import { isRefusal, Subject } from './subject.ts'

export interface SiegeOptions {
  seed: number
  /** How many API servers the cluster has. Default: 1. */
  servers?: number
  /** Ends the siege: after so many milliseconds, or when each of these faults was inflicted once. */
  until: { ms: number } | { faults: readonly string[] }
  /** One line for each fault. */
  say(line: string): void
}

export interface SiegeReport {
  seed: number
  minutes: number
  faults: Record<string, number>
  writes: Ledger['counts']
  kills: number
  /** How often the store and the pods were held against what must be true. */
  checks: number
  /** What was found; empty: all invariants held. */
  violations: string[]
}

const steady = ['one', 'two']
const writers = 4

/** Faults in random order on a cluster under load; after each, and at the end, what must be true is held against what is. */
export async function siege({ seed, servers, until, say }: SiegeOptions): Promise<SiegeReport> {
  const random = randomFrom(seed)
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-faults-'))
  const subject = new Subject(folder, { servers })
  const ledger = new Ledger(randomFrom(seed + 1))
  const report: SiegeReport = {
    seed,
    minutes: 0,
    faults: {},
    writes: ledger.counts,
    kills: 0,
    checks: 0,
    violations: [],
  }
  const possible = allFaults.filter(({ needsDisk }) => subject.hasDisk || !needsDisk)
  if (!subject.hasDisk) say('this user may not mount: no full and no read-only disk')
  const startMs = realClock.monotonic()
  let isOver = false
  const violated = (what: string): void => {
    report.violations.push(what)
    say(`VIOLATION: ${what}`)
  }
  try {
    await subject.start()
    for (const name of steady) await subject.startSteadyPod(name)
    const load = Promise.all(
      Array.from({ length: writers }, async () => {
        while (!isOver) {
          await ledger.write(subject.client, isRefusal).catch((error: Error) => violated(error.message))
          await realClock.sleep(5)
        }
      }),
    )
    for (const fault of plan(possible, until, random, subject)) {
      const beganMs = realClock.monotonic()
      const processes = steady.map((name) => subject.processOf(name))
      // One that the fault before has killed may not be there again.
      if (fault.endsNothing)
        await eventually(() => !programs(subject).includes('undefined'), { what: 'all programs', timeoutMs: 60_000 })
      const before = programs(subject)
      try {
        await fault.inflict({ subject, ledger, random })
        // What is killed ends in its own time; until then it looks as if it went on.
        const areOthers = (): boolean => steady.every((name, i) => subject.processOf(name) !== processes[i])
        if (fault.endsPods) await eventually(areOthers, { what: "the pods' processes to end", timeoutMs: 60_000 })
        for (const name of steady) {
          if (fault.failsPods) await subject.removePod(name)
          if (fault.failsPods) await subject.startSteadyPod(name)
          await subject.podRuns(name)
        }
        const after = steady.map((name) => subject.processOf(name))
        if (!fault.endsPods && !fault.failsPods && `${processes}` !== `${after}`)
          violated(`${fault.name}: the pods' processes were ${processes}, and are ${after}`)
        if (fault.endsNothing && before !== programs(subject))
          violated(`${fault.name}: the processes were ${before}, and are ${programs(subject)}`)
      } catch (error) {
        violated(`${fault.name}: ${(error as Error).message}`)
        if (!(await isAlive(subject))) break
      }
      for (const wrong of await checked(ledger, subject)) violated(`${fault.name}: ${wrong}`)
      report.checks++
      report.faults[fault.name] = (report.faults[fault.name] ?? 0) + 1
      const { acknowledged, refused, unanswered } = ledger.counts
      const took = ((realClock.monotonic() - beganMs) / 1000).toFixed(1)
      say(`${fault.name}: ${took} s; writes ${acknowledged} acknowledged, ${refused} refused, ${unanswered} unanswered`)
    }
    isOver = true
    await load
    for (const name of steady) await subject.removePod(name).catch((error: Error) => violated(error.message))
    for (const wrong of await checked(ledger, subject)) violated(`at the end: ${wrong}`)
    // A kubelet removes a pod's folder after the pod.
    const noFolder = () => subject.podFolders().length === 0
    await eventually(noFolder, { what: 'the pods’ folders to go' }).catch(() => {
      for (const left of subject.podFolders()) violated(`left behind: ${left}`)
    })
    report.checks++
    if ((await subject.stop()) !== 0) violated('kubestage down failed')
    await subject.nothingRuns()
  } catch (error) {
    violated((error as Error).message)
  } finally {
    isOver = true
    await subject.close()
    report.kills = subject.kills
    report.minutes = (realClock.monotonic() - startMs) / 60_000
    if (report.violations.length === 0) remove(subject)
    else say(`kept for a look: ${folder}`)
  }
  return report
}

function* plan(
  possible: readonly Fault[],
  until: SiegeOptions['until'],
  random: () => number,
  subject: Subject,
): Generator<Fault> {
  if ('faults' in until) {
    yield* possible.filter(({ name }) => until.faults.includes(name))
    return
  }
  const endMs = realClock.monotonic() + until.ms
  while (realClock.monotonic() < endMs) {
    const fault = oneOf(random, possible)
    if (!fault.endsServer || subject.mayEndServer()) yield fault
  }
}

const checked = (ledger: Ledger, subject: Subject): Promise<string[]> =>
  ledger.differences(subject.client).catch((error: Error) => [error.message])

const programs = (subject: Subject): string =>
  (['server', 'kubelet', 'shim'] as const).map((name) => `${name} ${subject.pidOf(name)}`).join(', ')

const isAlive = (subject: Subject): Promise<boolean> =>
  subject.answers().then(
    () => true,
    () => false,
  )

function remove(subject: Subject): void {
  subject.unmount()
  rmSync(subject.folder, { recursive: true, force: true })
}
