/** Plays subjects on the nodes, several at a time. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Difference } from './compare.ts'
import { image, otherImage } from './containers.ts'
import { type Life, lifeOf } from './life.ts'
import { PodNode, startOurNode } from './node.ts'
import { differencesIn, type Outcome, races } from './outcome.ts'
import type { Outcomes } from './outcomes.ts'
import { play } from './player.ts'
import type { Subject } from './subject.ts'

/** Pods that all start in one moment wait for each other. */
const laneGapMs = 1_500

export interface PlaySettings {
  /** How many subjects are played at a time. */
  parallel: number
  /** How many subjects are played on the real node; those that race are not. */
  count: number
  /** How often a subject is played whose lives differ. */
  plays: number
  /** How often a subject is played on the real node at least. */
  again: number
  /** After this moment of `performance.now()` no play begins. */
  endMs: number
}

interface Nodes {
  theirs: PodNode
  ours: PodNode
  slow: PodNode
}

export class PlayRun {
  readonly #nodes: Nodes
  readonly #outcomes: Outcomes
  readonly #stop: () => Promise<unknown>
  readonly #name = Date.now().toString(36).slice(-5)
  #plays = 0

  private constructor(nodes: Nodes, outcomes: Outcomes, stop: () => Promise<unknown>) {
    this.#nodes = nodes
    this.#outcomes = outcomes
    this.#stop = stop
  }

  static async start(kubeconfig: string, outcomes: Outcomes): Promise<PlayRun> {
    const theirs = await PodNode.of(kubeconfig)
    const ours = await startOurNode()
    const slow = await startOurNode({ slow: true })
    const stop = () => Promise.all([ours.stop(), slow.stop()])
    const run = new PlayRun({ theirs, ours: ours.node, slow: slow.node }, outcomes, stop)
    await Promise.all([theirs, ours.node, slow.node].map((node) => run.#warmUp(node)))
    return run
  }

  async play(subjects: Iterable<[string, Subject]>, settings: PlaySettings): Promise<void> {
    const { endMs } = settings
    const queue = subjects[Symbol.iterator]()
    let left = settings.count
    const lane = async (_: unknown, index: number): Promise<void> => {
      await wait(index * laneGapMs)
      while (left > 0 && performance.now() < endMs) {
        const next = queue.next()
        if (next.done) return
        const [name, subject] = next.value
        const outcome = this.#outcomes.get(name) ?? (await this.#screened(name, subject))
        this.#outcomes.set(outcome)
        if (races(outcome) || left <= 0) continue
        left--
        while (performance.now() < endMs && needsPlay(outcome, settings)) await this.#playOnce(outcome)
      }
    }
    await Promise.all(Array.from({ length: settings.parallel }, lane))
  }

  /** Plays a subject twice at most. One that races, or that the server refuses, does not differ. */
  async differencesOf(subject: Subject): Promise<Difference[]> {
    const outcome = await this.#screened('', subject)
    if (races(outcome) || outcome.ours[0]!.answers[0]) return []
    while (needsPlay(outcome, { plays: 2, again: 1 })) await this.#playOnce(outcome)
    return differencesIn(outcome)
  }

  async close(): Promise<void> {
    await this.#stop()
    await this.#nodes.theirs.close()
  }

  /** Plays it on our two nodes alone: what races there is left out whatever the real node does. */
  async #screened(name: string, subject: Subject): Promise<Outcome> {
    const [ours, slow] = await this.#lives(subject, [this.#nodes.ours, this.#nodes.slow])
    return { name, subject, theirs: [], ours: [ours!], slow: [slow!] }
  }

  async #playOnce({ subject, theirs, ours }: Outcome): Promise<void> {
    const nodes = [this.#nodes.theirs, ...(theirs.length > 0 ? [this.#nodes.ours] : [])]
    const [their, our] = await this.#lives(subject, nodes)
    theirs.push(their!)
    if (our) ours.push(our)
  }

  async #lives(subject: Subject, nodes: PodNode[]): Promise<Life[]> {
    const pod = this.#podName()
    return (await Promise.all(nodes.map((node) => play(subject, node, pod)))).map(lifeOf)
  }

  /** Has the form that plain.ts takes out. */
  #podName(): string {
    return `p${this.#name}-${this.#plays++}-0`
  }

  /** Brings the images to the node, which the lives then find. */
  async #warmUp(node: PodNode): Promise<void> {
    const containers = [image, otherImage].map((image, index) => ({ name: `c${index}`, image, command: ['true'] }))
    const spec = { restartPolicy: 'Never', automountServiceAccountToken: false, containers }
    const deeds = [{ after: 'exited' as const, seconds: 1, delete: {} }]
    await play({ pod: { spec }, deeds, untilSeconds: 20 }, node, this.#podName())
  }
}

/** The first plays on the real node are compared with each other. */
const needsPlay = (outcome: Outcome, { plays, again }: Pick<PlaySettings, 'plays' | 'again'>): boolean =>
  outcome.theirs.length < again || (outcome.theirs.length < plays && differencesIn(outcome).length > 0)
