import type { Cluster } from '../../cluster/cluster.ts'
import type { Event, Pod, WatchEvent } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { events, pods } from '../../shared/client/resources.ts'
import { type ClusterAccess, createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import { type Deadline, TimeIsUp } from './deadline.ts'
import { describeChange, isReady } from './describe-pod.ts'
import { followLog } from './follow-log.ts'
import { type LogEnd, lastSeen } from './last-seen.ts'
import { manifestFile } from './manifest.ts'
import type { Narrator } from './narrator.ts'

const reason = 'Update'
const namespace = 'default'
/** The hooks of the example print these lines when they get the reason. */
const expected = [`KUBE_POD_TERM_REASON=${reason}`, `preStop: KUBE-POD-TERM-REASON: ${reason}`]
const logTailLines = 20
const logTimeoutMs = 2_000

export interface StoryOptions {
  cluster: Cluster
  narrator: Narrator
  pod: Pod
  deadline: Deadline
}

/** A pod is created, runs, is deleted for a reason, and is gone. */
export class Story {
  readonly #options: StoryOptions
  readonly #access: ClusterAccess
  readonly #client: Client
  readonly #name: string
  readonly #containers: readonly string[]
  readonly #printed: string[] = []

  private constructor(options: StoryOptions, access: ClusterAccess) {
    this.#options = options
    this.#access = access
    this.#client = createRestClient({ ...access, clock: realClock })
    this.#name = options.pod.metadata.name ?? ''
    this.#containers = options.pod.spec.containers.map(({ name }) => name)
  }

  /** Resolves to whether the hooks were told the reason; where not, what was seen instead has been told. */
  static async tell(options: StoryOptions): Promise<boolean> {
    const story = new Story(options, await loadKubeconfig(options.cluster.state.kubeconfig))
    try {
      await story.#tell()
      return story.#conclude()
    } catch (error) {
      if (!(error instanceof TimeIsUp)) throw error
      await story.#explain(error.message)
      return false
    } finally {
      await story.#client.close()
    }
  }

  async #tell(): Promise<void> {
    const { cluster, narrator, pod, deadline } = this.#options
    const name = this.#name
    const watch = this.#client.watch<Pod>(pods, { namespace, fieldSelector: `metadata.name=${name}` })
    const changes = watch[Symbol.asyncIterator]()

    narrator.chapter('A cluster of its own')
    narrator.aside(`${cluster.url}, node-1 is Ready`)

    narrator.chapter('A pod with two containers, each a process with a preStop hook')
    narrator.typed(`kubectl apply -f ${manifestFile}`)
    await this.#client.create(pods, pod, { namespace })
    const ready = this.#watchUntil(changes, ({ object }) => isReady(object))
    await deadline.within(`pod ${name} becoming ready`, ready)
    narrator.typed(`kubectl logs -f ${name} --all-containers`)
    const greeted = this.#containers.map(() => Promise.withResolvers<void>())
    const logs = Promise.all(this.#containers.map((container, index) => this.#follow(container, greeted[index])))
    logs.catch(() => {}) // told below, unless the story ends before
    await deadline.within('a first line from each container', Promise.all(greeted.map(({ promise }) => promise)))

    narrator.chapter('It is deleted for a reason')
    narrator.typed(`kubectl delete pod ${name} --reason=${reason}`)
    await this.#client.delete(pods, { namespace, name }, { reason })
    const gone = this.#watchUntil(changes, ({ type }) => type === 'DELETED')
    await deadline.within(`the end of pod ${name}`, gone)
    await deadline.within('the end of the logs', logs)
  }

  async #watchUntil(
    changes: AsyncIterator<WatchEvent<Pod>>,
    isEnough: (event: WatchEvent<Pod>) => boolean,
  ): Promise<void> {
    for (let told = ''; ; ) {
      const { done, value } = await changes.next()
      if (done) throw new Error('the watch ended before the story did')
      const change = describeChange(value)
      if (change !== told) this.#options.narrator.seen('watch', change)
      told = change
      if (isEnough(value)) return
    }
  }

  #follow(container: string, greeted: PromiseWithResolvers<void> | undefined): Promise<void> {
    return this.#log(container, (line) => {
      this.#printed.push(line)
      this.#options.narrator.seen(container, line)
      greeted?.resolve()
    })
  }

  #log(container: string, onLine: (line: string) => void, tailLines?: number): Promise<void> {
    const { server, ca = '', cert = '', key = '' } = this.#access
    return followLog({ server, ca, user: { cert, key }, namespace, pod: this.#name, container, onLine, tailLines })
  }

  #conclude(): boolean {
    const { narrator } = this.#options
    const missing = expected.filter((line) => !this.#printed.includes(line))
    narrator.chapter(missing.length ? 'Something is missing' : 'Both hooks were told why')
    for (const line of missing) narrator.aside(`no container printed: ${line}`)
    return missing.length === 0
  }

  async #explain(problem: string): Promise<void> {
    const { narrator } = this.#options
    const selection = { namespace, fieldSelector: `involvedObject.name=${this.#name}` }
    const [{ items: found }, { items: happened }, logs] = await Promise.all([
      this.#client.list<Pod>(pods, { namespace, fieldSelector: `metadata.name=${this.#name}` }),
      this.#client.list<Event>(events, selection),
      Promise.all(this.#containers.map((container) => this.#logEnd(container))),
    ])
    narrator.chapter(`The demo failed: ${problem}`)
    for (const line of lastSeen(found[0], happened, logs)) narrator.aside(line)
    narrator.aside('kubestage doctor looks at this machine; docs/troubleshooting.md goes by what you see')
  }

  async #logEnd(container: string): Promise<LogEnd> {
    const lines: string[] = []
    const reading = this.#log(container, (line) => line && lines.push(line), logTailLines)
    await withinLimit(reading, logTimeoutMs, realClock).catch(() => {}) // no log says enough
    return { container, lines }
  }
}
