import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KubeList, Pod } from '../../../shared/api/types.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { oneOf } from '../../faults/random.ts'
import { until } from '../../harness/until.ts'
import { HttpsClient } from '../client.ts'
import type { Server } from '../server.ts'
import type { Kubelet } from './kubelet.ts'
import type { Life } from './lives.ts'

const reasons = ['Update', 'Decommissioned', 'Eviction', 'storm']
const script = join(import.meta.dirname, 'life.pl')
const pauseMs = 50
const goneTimeoutMs = 120_000
/** Much longer than any container takes. */
const graceSeconds = 60
/** A program that has not begun yet does not hear SIGTERM. */
const earlyGraceSeconds = 2

interface Known {
  name: string
  reason: string
  /** When it is deleted, by the machine's clock. */
  untilMs: number
  isDeleted: boolean
  /** It is deleted whether its container has started or not. */
  isEarly: boolean
}

/** Clients that create pods on the nodes, let them run for a while and delete them with a reason, at any of the servers. */
export class PodLoad {
  readonly pods: Known[] = []
  readonly #servers: readonly Server[]
  readonly #kubelets: readonly Kubelet[]
  readonly #namespace: string
  readonly #folder: string
  readonly #random: () => number
  readonly #client = new HttpsClient()
  #isOver = false
  readonly #running: Promise<unknown>

  constructor(
    { servers, kubelets, folder }: { servers: readonly Server[]; kubelets: readonly Kubelet[]; folder: string },
    { namespace, random, atOnce }: { namespace: string; random: () => number; atOnce: number },
  ) {
    this.#servers = servers
    this.#kubelets = kubelets
    this.#namespace = namespace
    this.#folder = join(folder, namespace)
    this.#random = random
    mkdirSync(this.#folder, { recursive: true, mode: 0o777 })
    this.#running = Promise.all(Array.from({ length: atOnce }, (_, index) => this.#run(index)))
  }

  /** Resolves when so many more pods have been deleted. */
  async goesOn(count: number, when: string): Promise<void> {
    const deleted = (): number => this.pods.filter(({ isDeleted }) => isDeleted).length
    const goal = deleted() + count
    await until(() => deleted() >= goal, { what: `${count} more pods to be deleted ${when}`, timeoutMs: goneTimeoutMs })
  }

  /** Creates no more, deletes what is there; resolves when all pods are gone. */
  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
    await until(async () => (await this.#present())?.length === 0, {
      what: 'all pods to be gone',
      timeoutMs: goneTimeoutMs,
    })
    this.#client.close()
  }

  lives(): Life[] {
    return this.pods.map(({ name, reason, isEarly }) => ({ name, reason, isEarly, lines: this.#linesOf(name) }))
  }

  /** What is in the command lines of containers. */
  get marker(): string {
    return this.#folder
  }

  async #run(index: number): Promise<void> {
    for (let count = 0; !this.#isOver; count++) {
      const pod: Known = {
        name: `pod-${index}-${count}`,
        reason: oneOf(this.#random, reasons),
        untilMs: realClock.monotonic() + 300 + this.#random() * 1_500,
        isDeleted: false,
        isEarly: this.#random() < 0.2,
      }
      this.pods.push(pod)
      await this.#ask('POST', this.#path, this.#podOf(pod.name), [201, 409])
      const isTime = (): boolean => this.#isOver || realClock.monotonic() >= pod.untilMs
      await until(() => isTime() && (pod.isEarly || this.#linesOf(pod.name).includes('start')), {
        what: `the container of ${pod.name} to start`,
        timeoutMs: goneTimeoutMs,
      })
      const options = { gracePeriodSeconds: pod.isEarly ? earlyGraceSeconds : graceSeconds, reason: pod.reason }
      await this.#ask('DELETE', `${this.#path}/${pod.name}`, options, [200, 202, 404])
      pod.isDeleted = true
    }
  }

  /** Again and again, until it is known to have happened. */
  async #ask(method: string, path: string, body: object, good: readonly number[]): Promise<void> {
    for (;;) {
      const reply = await this.#client.send(oneOf(this.#random, this.#servers), { method, path, body })
      if (reply?.status !== undefined && good.includes(reply.status)) return
      if (reply?.status !== undefined && reply.status >= 400 && reply.status < 500 && reply.status !== 429)
        throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
      await realClock.sleep(pauseMs)
    }
  }

  async #present(): Promise<Pod[] | undefined> {
    const reply = await this.#client.send(oneOf(this.#random, this.#servers), { method: 'GET', path: this.#path })
    return reply?.status === 200 ? (reply.body as KubeList<Pod>).items : undefined
  }

  get #path(): string {
    return `/api/v1/namespaces/${this.#namespace}/pods`
  }

  #linesOf(name: string): string[] {
    const file = this.#fileOf(name)
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  }

  #fileOf(name: string): string {
    return join(this.#folder, name)
  }

  #podOf(name: string): object {
    const linger = (this.#random() * 0.6).toFixed(2)
    const file = this.#fileOf(name)
    const tell = `echo "hook $KUBE_POD_TERM_REASON" >> ${file}`
    const mounts = [this.#folder, import.meta.dirname]
    return {
      metadata: { name },
      spec: {
        nodeName: oneOf(this.#random, this.#kubelets).nodeName,
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: graceSeconds,
        containers: [
          {
            name: 'c',
            image: 'perl',
            command: ['perl', script, file, linger],
            lifecycle: { preStop: { exec: { command: ['sh', '-c', tell] } } },
            volumeMounts: mounts.map((mountPath, index) => ({ name: `v${index}`, mountPath })),
          },
        ],
        volumes: mounts.map((path, index) => ({ name: `v${index}`, hostPath: { path } })),
      },
    }
  }
}
