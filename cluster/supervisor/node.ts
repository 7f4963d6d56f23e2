import { writeFileSync } from 'node:fs'
import { shutdownMs } from '../../kubelet/node/shutdown-options.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { checkLimits, lowLimits } from '../../shared/limits/low-limits.ts'
import { checkKubeletPort } from '../explain-listening.ts'
import { Adopted, endKubeletBefore } from './adopted.ts'
import { Child, type Ending, type Supervised } from './child.ts'
import { kubeletLog, kubeletPidFile, kubeletSpec, shimSpec } from './child-specs.ts'
import { hasBegun } from './has-begun.ts'
import { KeptProcess } from './kept-process.ts'
import { type KubeletSettings, writeKubeletFiles } from './kubelet-files.ts'
import { lastWords } from './last-words.ts'
import { nodeIsReady } from './node-ready.ts'
import { areTakenOver, killed, type PodsFate } from './pods-fate.ts'

export const readyTimeoutMs = 30_000
/** Time in which a kubelet that is started again runs its program. */
const beginTimeoutMs = 20_000
/** Time that the kubelet may need beyond the pods' grace. */
const stopMarginMs = 3_000
/** Returns how long a kubelet and its shim may take to end all pods within their grace, in milliseconds. */
export const stopMs = (settings: Parameters<typeof shutdownMs>[0]): number => shutdownMs(settings) + stopMarginMs
const shimTimeoutMs = 3_000

export interface NodeOptions extends KubeletSettings {
  /** The machine's clock: the supervisor waits for processes. */
  clock: Clock
  /** Receives one line about each unexpected event, with what is done about it. */
  onTrouble(line: string): void
  /** Runs when the kubelet has ended, or another runs. */
  onKubelet?(): void
  /** A kubelet that was started ahead (`kubeletSpec`) and waits to begin. Default: a kubelet is started now. */
  kubelet?: Child
  /** Says what becomes of the pods; by default they are killed. */
  fate?: PodsFate
}

export interface RunningNode {
  name: string
  /** Process ID of the current kubelet; undefined if the node has no process of its own. */
  kubeletPid(): number | undefined
  stop(): Promise<void>
  kill(): Promise<void>
}

/**
 * Starts the two processes of a node: the kubelet, which is started again when it ends, and the shim, which holds the
 * containers meanwhile. Resolves when the API says that the node is ready. Rejects with neither process running, unless
 * a server before this one has started the pods.
 */
export async function startNode(options: NodeOptions, client: Client): Promise<RunningNode> {
  const { settings, state, clock, fate = killed } = options
  if (areTakenOver(fate)) await endKubeletBefore(state, clock)
  await checkKubeletPort(settings.kubeletPort)
  writeKubeletFiles(options)
  const node = new NodeProcesses(options)
  try {
    await node.ready(client)
  } catch (error) {
    if (!areTakenOver(fate)) await node.kill()
    throw error
  }
  return node
}

/** Says what a shim needs that did not start. */
function remedyFor(ending: Ending): string {
  if (!ending.startsWith('cannot be started') || ending.includes('no more processes')) return ''
  return '; install perl, which starts containers, or run without a node: --kubelet=false'
}

class NodeProcesses implements RunningNode {
  readonly name: string
  readonly #options: NodeOptions
  readonly #fate: PodsFate
  readonly #shim: KeptProcess
  readonly #kubelet: KeptProcess
  #isReady = false

  constructor(options: NodeOptions) {
    const { state, clock, fate = killed } = options
    this.name = options.settings.nodeName
    this.#options = options
    this.#fate = fate
    this.#shim = new KeptProcess({
      spec: shimSpec(state, fate),
      clock,
      first: areTakenOver(fate) ? Adopted.shim(state.kubelet, clock) : undefined,
      onCrash: (ending, restartInMs) => this.#shimCrashed(ending, restartInMs),
    })
    this.#kubelet = new KeptProcess({
      spec: kubeletSpec(state, fate),
      clock,
      first: options.kubelet,
      onStart: (child) => this.#kubeletStarted(child),
      onCrash: (ending, restartInMs) => this.#kubeletCrashed(ending, restartInMs),
    })
  }

  /** Rejects if one of the two ends before. */
  async ready(client: Client): Promise<void> {
    const { settings, state, clock } = this.#options
    const logFile = kubeletLog(state)
    const { nodeName, controllers } = settings
    await Promise.race([
      nodeIsReady({ client, clock, nodeName, timeoutMs: readyTimeoutMs, controllers, logFile }),
      this.#kubelet.firstCrash.then((ending) => {
        throw new ConfigError(
          `the kubelet ended before its node was ready (${ending})${lastWords(logFile)}${lowLimits()}`,
        )
      }),
      this.#shim.firstCrash.then((ending) => {
        throw new ConfigError(
          `the shim, a Perl program, ended before the node was ready (${ending})${lowLimits() || remedyFor(ending) || lastWords(logFile)}`,
        )
      }),
    ])
    this.#isReady = true
  }

  kubeletPid(): number | undefined {
    return this.#kubelet.pid
  }

  async stop(): Promise<void> {
    await this.#kubelet.stop(stopMs(this.#options.settings))
    await this.#endShim()
  }
  async kill(): Promise<void> {
    this.#kubelet.kill()
    await this.#endShim()
  }

  #endShim(): Promise<void> {
    return this.#shim.stop(shimTimeoutMs, 'release')
  }

  #kubeletStarted(child: Supervised): void {
    const { state, onKubelet } = this.#options
    if (child instanceof Child) {
      child.begin(this.#fate.pods)
      if (this.#isReady) this.#endUnlessItBegins(child)
    }
    if (this.#fate.pods === 'kept') writeFileSync(kubeletPidFile(state), `${child.pid ?? ''}\n`)
    onKubelet?.()
  }

  /** Ends a kubelet that does not begin: what it lacks may be there when the next one starts. */
  #endUnlessItBegins(child: Child): void {
    const { clock, onTrouble } = this.#options
    const timer = clock.setTimer(beginTimeoutMs, () => {
      if (child.pid === undefined || hasBegun(child.pid)) return
      onTrouble(`the kubelet has not begun within ${beginTimeoutMs / 1000} s${lowLimits() || checkLimits}`)
      child.signal('SIGKILL')
    })
    child.ended.then(() => timer.cancel())
  }

  #kubeletCrashed(ending: Ending, restartInMs: number): void {
    const { state, onKubelet, onTrouble } = this.#options
    onKubelet?.()
    if (!this.#isReady) return // reported as the reason why nothing starts
    const why = ending === 'SIGABRT' ? `${lastWords(kubeletLog(state))}${lowLimits() || checkLimits}` : ''
    onTrouble(`the kubelet ended (${ending}) and starts again in ${restartInMs / 1000} s; its containers run on${why}`)
  }

  #shimCrashed(ending: Ending, restartInMs: number): void {
    if (!this.#isReady) return // reported as the reason why nothing starts
    const seconds = restartInMs / 1000
    this.#options.onTrouble(`the shim ended (${ending}), and all containers with it; both start again in ${seconds} s`)
  }
}
