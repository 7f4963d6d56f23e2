/** Plays subjects on the two nodes, several at a time. */
import { setTimeout as wait } from 'node:timers/promises'
import { image, otherImage } from './containers.ts'
import { lifeOf } from './life.ts'
import { PodNode, startOurNode } from './node.ts'
import { differencesIn, type Outcome } from './outcome.ts'
import type { Outcomes } from './outcomes.ts'
import { play } from './player.ts'
import type { Subject } from './subject.ts'

/** Pods that all start in one moment wait for each other. */
const laneGapMs = 1_500

export interface PlaySettings {
  /** How many subjects are played at a time. */
  parallel: number
  /** How often a subject is played whose lives differ. */
  plays: number
  /** After this time no play begins. */
  seconds: number
}

export class PlayRun {
  readonly #nodes: { theirs: PodNode; ours: PodNode }
  readonly #outcomes: Outcomes
  readonly #stop: () => Promise<void>
  readonly #name = Date.now().toString(36).slice(-5)
  #plays = 0

  private constructor(nodes: { theirs: PodNode; ours: PodNode }, outcomes: Outcomes, stop: () => Promise<void>) {
    this.#nodes = nodes
    this.#outcomes = outcomes
    this.#stop = stop
  }

  static async start(kubeconfig: string, outcomes: Outcomes): Promise<PlayRun> {
    const theirs = await PodNode.of(kubeconfig)
    const { node: ours, stop } = await startOurNode()
    const run = new PlayRun({ theirs, ours }, outcomes, stop)
    await Promise.all([theirs, ours].map((node) => run.#warmUp(node)))
    return run
  }

  async play(subjects: readonly [string, Subject][], { parallel, plays, seconds }: PlaySettings): Promise<void> {
    const endMs = performance.now() + seconds * 1000
    const queue = [...subjects]
    const lane = async (_: unknown, index: number): Promise<void> => {
      await wait(index * laneGapMs)
      for (let next = queue.shift(); next; next = queue.shift()) {
        const [name, subject] = next
        const outcome = this.#outcomes.get(name) ?? { name, subject, theirs: [], ours: [] }
        while (performance.now() < endMs && outcome.theirs.length < plays && differs(outcome)) {
          await this.#playOnce(outcome)
          this.#outcomes.set(outcome)
        }
      }
    }
    await Promise.all(Array.from({ length: parallel }, lane))
  }

  async close(): Promise<void> {
    await this.#stop()
    await this.#nodes.theirs.close()
  }

  async #playOnce({ subject, theirs, ours }: Outcome): Promise<void> {
    const pod = this.#podName()
    const both = [this.#nodes.theirs, this.#nodes.ours].map((node) => play(subject, node, pod))
    const [their, our] = (await Promise.all(both)).map(lifeOf)
    theirs.push(their!)
    ours.push(our!)
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

const differs = (outcome: Outcome): boolean => outcome.theirs.length === 0 || differencesIn(outcome).length > 0
