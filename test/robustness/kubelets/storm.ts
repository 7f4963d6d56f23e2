import type { Test } from 'tap'
import type { KubeObject } from '../../../shared/api/types.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { oneOf, randomFrom } from '../../faults/random.ts'
import { processesWith } from '../../harness/processes.ts'
import { until } from '../../harness/until.ts'
import { HttpsClient } from '../client.ts'
import { type Fault, faultsOf } from '../faults.ts'
import { type Subject, type SubjectOptions, startSubject } from '../subject.ts'
import { Kubelet } from './kubelet.ts'
import { checkLife } from './lives.ts'
import { PodLoad } from './pod-load.ts'

export interface KubeletStormOptions extends SubjectOptions {
  seed: number
  kubelets: number
  /** Ends after so many processes were killed, */
  kills?: number
  /** or after these faults, one in each round. */
  faults?: readonly string[]
  minutes?: number
  /** How often a round inflicts its fault. Default: once. */
  times?: number
  say(line: string): void
}

export interface KubeletStormReport {
  seed: number
  storage: string
  seconds: number
  kills: number
  faults: Record<string, number>
  pods: number
  /** Containers that started, and hooks that ran. */
  containers: number
  hooks: number
  violations: string[]
}

interface KubeletFault {
  name: string
  isKill?: boolean
  /** A kubelet ends: the next one may repeat a hook. */
  endsKubelet?: boolean
  inflict(): Promise<void>
}

const podsAtOnce = 6
const podsBetweenFaults = 6
const recoveryTimeoutMs = 120_000

/** Rounds of pods that come and go, with one fault each; every container's life is checked when all pods are gone. */
class KubeletStorm {
  readonly #options: KubeletStormOptions
  readonly #subject: Subject
  readonly #kubelets: readonly Kubelet[]
  readonly #random: () => number
  readonly #admin = new HttpsClient()
  readonly #report: KubeletStormReport
  #rounds = 0

  constructor(options: KubeletStormOptions, subject: Subject, kubelets: readonly Kubelet[]) {
    this.#options = options
    this.#subject = subject
    this.#kubelets = kubelets
    this.#random = randomFrom(options.seed)
    const { seed, storage } = options
    this.#report = { seed, storage, seconds: 0, kills: 0, faults: {}, pods: 0, containers: 0, hooks: 0, violations: [] }
  }

  async run(): Promise<KubeletStormReport> {
    const startMs = realClock.monotonic()
    try {
      for (const fault of this.#plan()) {
        await this.#round(fault)
        if (this.#report.violations.length > 0) break
      }
    } catch (error) {
      this.#violated([(error as Error).message])
    } finally {
      this.#admin.close()
    }
    this.#report.seconds = Math.round((realClock.monotonic() - startMs) / 1000)
    return this.#report
  }

  *#plan(): Generator<KubeletFault> {
    const ofServers = faultsOf(this.#subject).map((fault) => this.#ofServer(fault))
    const possible = [...this.#ofKubelets(), ...ofServers.filter(({ name }) => !name.includes('disk'))]
    const { faults = [], kills = 0, minutes = Number.POSITIVE_INFINITY } = this.#options
    for (const name of faults) {
      const fault = possible.find((one) => one.name === name)
      if (!fault) throw new Error(`there is no fault "${name}"`)
      yield fault
    }
    const endMs = realClock.monotonic() + minutes * 60_000
    while (this.#report.kills < kills && realClock.monotonic() < endMs) yield oneOf(this.#random, possible)
  }

  #ofServer({ name, isKill, inflict }: Fault): KubeletFault {
    return { name, isKill, inflict: () => inflict(this.#subject, this.#random) }
  }

  #ofKubelets(): KubeletFault[] {
    const killed = async (kubelet: Kubelet): Promise<void> => {
      await kubelet.kill()
      await realClock.sleep(this.#random() * 500)
      kubelet.restart()
    }
    const all = this.#kubelets
    return [
      {
        name: 'kill a kubelet',
        isKill: true,
        endsKubelet: true,
        inflict: () => killed(oneOf(this.#random, all)),
      },
      {
        name: 'kill all kubelets',
        isKill: true,
        endsKubelet: true,
        inflict: async () => void (await Promise.all(all.map(killed))),
      },
      {
        name: 'halt a kubelet',
        inflict: async () => {
          const kubelet = oneOf(this.#random, all)
          kubelet.signal('SIGSTOP')
          await realClock.sleep(200 + this.#random() * 1_500)
          kubelet.signal('SIGCONT')
        },
      },
    ]
  }

  async #round(fault: KubeletFault): Promise<void> {
    const { times = 1 } = this.#options
    const beganMs = realClock.monotonic()
    const namespace = `lives-${this.#rounds++}`
    await this.#create('/api/v1/namespaces', { metadata: { name: namespace } })
    // No control loop runs that would make it.
    await this.#create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } })
    const { servers, folder } = this.#subject
    const parts = { servers, kubelets: this.#kubelets, folder }
    const load = new PodLoad(parts, { namespace, random: this.#random, atOnce: podsAtOnce })
    await load.goesOn(podsBetweenFaults, `before: ${fault.name}`)
    for (let count = 0; count < times; count++) {
      await fault.inflict()
      await load.goesOn(podsBetweenFaults, `after: ${fault.name}`)
    }
    await load.stop()
    this.#check(load, fault)
    this.#report.faults[fault.name] = (this.#report.faults[fault.name] ?? 0) + times
    if (fault.isKill) this.#report.kills += times
    const took = ((realClock.monotonic() - beganMs) / 1000).toFixed(1)
    this.#options.say(`${namespace}: ${fault.name}: ${took} s; ${load.pods.length} pods`)
  }

  #check(load: PodLoad, { endsKubelet }: KubeletFault): void {
    const lives = load.lives()
    this.#report.pods += lives.length
    for (const life of lives) {
      this.#report.containers += life.lines.filter((line) => line === 'start').length
      this.#report.hooks += life.lines.filter((line) => line.startsWith('hook')).length
      this.#violated(checkLife(life, { mayRepeatHook: endsKubelet }))
    }
    const left = processesWith(load.marker)
    if (left.length > 0) this.#violated([`processes ${left} are left of pods that are gone`])
  }

  #violated(what: readonly string[]): void {
    for (const one of what) {
      this.#report.violations.push(one)
      this.#options.say(`VIOLATION: ${one}`)
    }
  }

  /** Until the first server answers that it is there. */
  async #create(path: string, body: KubeObject): Promise<void> {
    await until(
      async () => {
        const reply = await this.#admin.send(this.#subject.servers[0]!, { method: 'POST', path, body })
        return reply?.status === 201 || reply?.status === 409
      },
      { what: `a create below ${path}`, timeoutMs: recoveryTimeoutMs },
    )
  }
}

/** Starts servers and kubelets, and runs a storm on them. */
export async function kubeletStorm(
  t: Pick<Test, 'teardown'>,
  options: KubeletStormOptions,
): Promise<KubeletStormReport> {
  const subject = await startSubject(t, options)
  const { servers, folder } = subject
  const kubelets: Kubelet[] = []
  for (let index = 0; index < options.kubelets; index++) {
    const kubelet = new Kubelet(`node-${index}`, { folder, servers })
    t.teardown(() => kubelet.stop())
    await kubelet.start()
    kubelets.push(kubelet)
  }
  return await new KubeletStorm(options, subject, kubelets).run()
}
