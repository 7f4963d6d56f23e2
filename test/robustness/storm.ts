import type { Test } from 'tap'
import type { KubeList, KubeObject } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { oneOf, randomFrom } from '../faults/random.ts'
import { until } from '../harness/until.ts'
import { AddressLoad, checkAddresses } from './addresses.ts'
import { checkLinearizability } from './checker.ts'
import { checkHistory, checkReplay } from './checks.ts'
import { HttpsClient } from './client.ts'
import { type Fault, faultsOf } from './faults.ts'
import type { Event, History, Told } from './history.ts'
import { stateOf } from './objects.ts'
import { Probe, type Start, starts } from './probe.ts'
import { after, difference, type Selection, type State, selected, selections } from './selection.ts'
import { type Subject, type SubjectOptions, startSubject } from './subject.ts'
import { type Transport, transports } from './transports.ts'
import { Watcher } from './watcher.ts'
import { Workload } from './workload.ts'

export interface StormOptions extends SubjectOptions {
  seed: number
  /** Ends after so many processes were killed, */
  kills?: number
  /** or after these faults, one in each round, */
  faults?: readonly string[]
  /** or after this time. Default: no limit. */
  minutes?: number
  /** How often a round inflicts its fault; in between each client goes on. Default: once. */
  times?: number
  /** Operations of each client before and after the fault of a round. */
  operations?: number
  /** One line for each round. */
  say(line: string): void
}

export interface StormReport {
  seed: number
  storage: string
  seconds: number
  kills: number
  faults: Record<string, number>
  /** Requests: answered, with an unknown outcome, and refused before they were sent. */
  requests: { answered: number; lost: number; refused: number }
  /** Compared with the events of all watches: lists, and the events. */
  lists: number
  events: number
  /** Created with an address that another client asked for at the same time. */
  services: number
  /** Watches that were opened again after the last revision that they had seen. */
  resumedWatches: number
  /** Watches from a revision seen before, whose events were compared with those told first. */
  replayedWatches: number
  /** Those of them that got 410 instead: a full disk has no room for history. */
  expiredWatches: number
  /** How often a watch was told 410, listed again and went on. */
  relistedWatches: number
  /** Events of watches that select, compared with those of all. */
  selectedEvents: number
  /** Watches that began with the state (no revision, `0`, `sendInitialEvents`), compared with the events of all. */
  watchesFromState: number
  /** Checked for linearizability: histories, the objects in them, the operations on these. */
  histories: number
  objects: number
  operations: number
  /** Empty: all guarantees held. */
  violations: string[]
}

/** An object that no round brings to an end must not keep a run from ending. */
const recoveryTimeoutMs = 120_000

/** Rounds of load with one fault each. Each round is a history of its own, in a namespace of its own, and is checked when it is over. */
export class Storm {
  readonly #options: StormOptions
  readonly #subject: Subject
  readonly #checker: string
  readonly #random: () => number
  readonly #admin = new HttpsClient()
  readonly report: StormReport
  /** Of all objects. */
  #watchers: Watcher[] = []
  /** Of some, from server to server. */
  #selecting: { selection: Selection; transport: Transport; watcher: Watcher }[] = []
  /** What there was before the round. */
  #state: State = new Map()

  constructor(options: StormOptions, subject: Subject, checker: string) {
    this.#options = options
    this.#subject = subject
    this.#checker = checker
    this.#random = randomFrom(options.seed)
    this.report = {
      seed: options.seed,
      storage: options.storage,
      seconds: 0,
      kills: 0,
      faults: {},
      requests: { answered: 0, lost: 0, refused: 0 },
      lists: 0,
      events: 0,
      services: 0,
      resumedWatches: 0,
      replayedWatches: 0,
      expiredWatches: 0,
      relistedWatches: 0,
      selectedEvents: 0,
      watchesFromState: 0,
      histories: 0,
      objects: 0,
      operations: 0,
      violations: [],
    }
  }

  async run(): Promise<StormReport> {
    const startMs = realClock.monotonic()
    const { servers } = this.#subject
    const revision = await this.#revision()
    // Only a full disk makes a server forget what comes next.
    const lists = this.#subject.storage === 'sqlite' ? this.#admin : undefined
    this.#watchers = servers.map((server) => new Watcher([server], revision, { lists }))
    // One goes from server to server, each of which goes on where another left off.
    this.#watchers.push(new Watcher(servers, revision, { lists }))
    this.#selecting = selections.map((selection, index) => {
      const transport = transports[index]!
      return { selection, transport, watcher: new Watcher(servers, revision, { lists, transport, selection }) }
    })
    try {
      for (const fault of this.#plan()) {
        await this.#round(fault)
        if (this.report.violations.length > 0) break
      }
    } catch (error) {
      this.#violated([(error as Error).message])
    } finally {
      for (const watcher of this.#all()) await watcher.close()
      this.#admin.close()
    }
    this.report.seconds = Math.round((realClock.monotonic() - startMs) / 1000)
    this.report.relistedWatches = this.#all().reduce((sum, { relisted }) => sum + relisted, 0)
    this.report.resumedWatches = this.#all().reduce((sum, { streams }) => sum + streams - 1, 0)
    return this.report
  }

  #all(): Watcher[] {
    return [...this.#watchers, ...this.#selecting.map(({ watcher }) => watcher)]
  }

  *#plan(): Generator<Fault> {
    const possible = faultsOf(this.#subject)
    const { kills = 0, faults = [], minutes = Number.POSITIVE_INFINITY } = this.#options
    for (const name of faults) {
      const fault = possible.find((one) => one.name === name)
      if (fault) yield fault
    }
    const endMs = realClock.monotonic() + minutes * 60_000
    while (this.report.kills < kills && realClock.monotonic() < endMs) {
      // Two of three rounds kill: kills are what a run is told to make.
      const wanted = this.#random() < 0.67
      yield oneOf(
        this.#random,
        possible.filter(({ isKill = false }) => isKill === wanted),
      )
    }
  }

  async #round(fault: Fault): Promise<void> {
    const { servers } = this.#subject
    const { times = 1 } = this.#options
    const beganMs = realClock.monotonic()
    const created = await this.#create('/api/v1/namespaces', `round-${this.report.histories}-`)
    const namespace = created.metadata.name ?? ''
    const load = new Workload(servers, namespace, this.#random)
    const addresses = new AddressLoad(servers, namespace, this.#random)
    let probes: Probe[] = []
    try {
      this.#watchers.at(-1)!.reopen()
      // Before any fault: initial events have no end that a stream which is cut would show.
      probes = this.#probe()
      await this.#everyClientGoesOn(load, `before: ${fault.name}`)
      for (let count = 0; count < times; count++) {
        await fault.inflict(this.#subject, this.#random)
        await this.#everyClientGoesOn(load, `after: ${fault.name}`)
      }
    } finally {
      await Promise.all([load.stop(), addresses.stop()])
    }
    await load.readAll()
    const revision = await this.#watchersCatchUp()
    await this.#check(load.history, { revision, probes })
    this.#violated(checkAddresses(addresses.claims))
    this.report.services += addresses.claims.length
    this.report.faults[fault.name] = (this.report.faults[fault.name] ?? 0) + times
    if (fault.isKill) this.report.kills += times
    for (const name of ['answered', 'lost', 'refused'] as const) this.report.requests[name] += load.counts[name]
    const { answered, lost, refused } = load.counts
    const took = ((realClock.monotonic() - beganMs) / 1000).toFixed(1)
    this.#options.say(`${namespace}: ${fault.name}: ${took} s; ${answered} answered, ${lost} lost, ${refused} refused`)
  }

  /** One watch for each way to begin. */
  #probe(): Probe[] {
    return (Object.keys(starts) as Start[]).map((start) => {
      const transport = oneOf(this.#random, transports)
      const selection = oneOf(this.#random, selections)
      return new Probe(oneOf(this.#random, this.#subject.servers), { start, transport, selection })
    })
  }

  /** Each client finishes so many operations more, without help. */
  async #everyClientGoesOn(load: Workload, when: string): Promise<void> {
    const { operations = 20 } = this.#options
    const goal = load.progress.map((finished) => finished + operations)
    await until(() => load.progress.every((finished, index) => finished >= goal[index]!), {
      what: `each client to finish ${operations} requests ${when} (${load.progress})`,
      timeoutMs: recoveryTimeoutMs,
    })
  }

  /** A last write of the kind that is watched has every watch tell all that was before it. */
  async #watchersCatchUp(): Promise<number> {
    const { metadata } = await this.#create('/api/v1/namespaces/default/configmaps', 'end-of-round-')
    const revision = Number(metadata.resourceVersion ?? 0)
    for (const watcher of this.#all()) await this.#reached(watcher, revision)
    return revision
  }

  async #reached(watcher: Watcher, revision: number): Promise<void> {
    await until(() => watcher.resourceVersion >= revision || watcher.hasEnded, {
      what: `the watch of ${watcher.server.name} to reach ${revision}, it is at ${watcher.resourceVersion}`,
      timeoutMs: recoveryTimeoutMs,
    })
  }

  /** Each server tells again what came after a revision that was seen in this round, or says 410: never less of it. */
  async #replay(told: readonly Event[], revision: number): Promise<void> {
    for (const server of this.#subject.servers) {
      const from = oneOf(this.#random, told).object.resourceVersion
      const watcher = new Watcher([server], from)
      await this.#reached(watcher, revision).finally(() => watcher.close())
      if (watcher.isExpired) this.report.expiredWatches++
      else this.#violated([...watcher.violations, ...checkReplay(told, from, watcher.take().events)])
      this.report.replayedWatches++
    }
  }

  async #check(history: History, { revision, probes }: { revision: number; probes: Probe[] }): Promise<void> {
    const streams = this.#watchers.map((watcher) => watcher.take())
    for (const watcher of this.#all()) this.#violated(watcher.violations.splice(0))
    this.#violated(checkHistory(history, streams))
    const [{ events, gaps }] = streams as [Told, ...Told[]]
    await this.#checkSelections({ events, gaps }, probes)
    const from = gaps.at(-1)?.to ?? 0
    await this.#replay(
      events.filter(({ object }) => object.resourceVersion > from),
      revision,
    )
    const [verdict] = await checkLinearizability(this.#checker, [history], this.#subject.folder)
    this.#violated(verdict!.violations.map((what) => `${history.namespace}: ${what}`))
    const { report } = this
    report.histories++
    report.objects += verdict!.keys
    report.operations += verdict!.operations
    report.lists += history.lists.length
    report.events += streams.reduce((sum, { events }) => sum + events.length, 0)
  }

  /** Watches that select, and watches that begin with the state: against the events of all. */
  async #checkSelections({ events, gaps }: Told, probes: readonly Probe[]): Promise<void> {
    const state = this.#state
    const hasGap = gaps.length > 0
    for (const { selection, transport, watcher } of this.#selecting) {
      const told = watcher.take()
      if (hasGap || told.gaps.length > 0) continue
      const wrong = difference(selected(events, state, selection), told.events)
      if (wrong) this.#violated([`the watch over ${transport} with ${selection.query} ${wrong}`])
      this.report.selectedEvents += told.events.length
    }
    for (const probe of probes) {
      const wrong = await probe.check(events, state)
      if (hasGap) continue
      this.#violated(wrong)
      this.report.watchesFromState++
    }
    const last = gaps.at(-1)
    const since = events.filter(({ object }) => object.resourceVersion > (last?.to ?? 0))
    this.#state = after(last?.state ?? state, since)
  }

  #violated(what: readonly string[]): void {
    for (const one of what) {
      this.report.violations.push(one)
      this.#options.say(`VIOLATION: ${one}`)
    }
  }

  /** Until the first server answers with it. */
  async #create(path: string, prefix: string): Promise<KubeObject> {
    const created = async (): Promise<KubeObject | undefined> => {
      const body = { metadata: { generateName: prefix } }
      const reply = await this.#admin.send(this.#subject.servers[0]!, { method: 'POST', path, body })
      return reply?.status === 201 ? (reply.body as KubeObject) : undefined
    }
    return await until(created, { what: `a create below ${path}`, timeoutMs: recoveryTimeoutMs })
  }

  /** Of the state before the first round. */
  async #revision(): Promise<number> {
    const reply = await this.#admin.send(this.#subject.servers[0]!, { method: 'GET', path: '/api/v1/configmaps' })
    const { metadata, items } = reply!.body as KubeList
    this.#state = stateOf(items)
    return Number(metadata.resourceVersion)
  }
}

/** Starts what is under test, and runs a storm on it. `checker` is the program of `buildChecker`. */
export async function storm(
  t: Pick<Test, 'teardown'>,
  { checker, ...options }: StormOptions & { checker: string },
): Promise<StormReport> {
  return await new Storm(options, await startSubject(t, options), checker).run()
}
