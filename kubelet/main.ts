import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { realClock } from '../shared/clock/real-clock.ts'
import { endWith } from '../shared/concurrency/end-with.ts'
import { helpText } from '../shared/config/help.ts'
import { ConfigError } from '../shared/config/option.ts'
import { collectAlone } from '../shared/memory/collect-alone.ts'
import { type KubeletConfig, kubeletOptions, readKubeletConfig } from './config.ts'
import { KubeletProgram } from './kubelet-program.ts'
import { shutdownMs } from './node/shutdown-options.ts'
import { loadRuntime } from './run-node.ts'

const EXIT_SIGNALLED = 130
/** Descriptor that a supervisor passes on: stderr of the cluster, or the life line of its pods. */
const passed = 3
/** A stop takes this much longer than the pods, for the last statuses and the ends of processes. */
const stopMarginMs = 2_500

async function main(): Promise<void> {
  collectAlone()
  const args = process.argv.slice(2)
  const supervisor = args.includes('--supervised') ? new Supervisor() : undefined
  await Promise.all([supervisor?.saysBegin(), supervisor && loadRuntime()])
  const { values, help } = await readKubeletConfig(args)
  if (help) {
    process.stdout.write(
      helpText({ name: 'kubelet', purpose: 'Runs the pods bound to one node.', options: kubeletOptions }),
    )
    return
  }
  await run(values, supervisor)
}

async function run(config: KubeletConfig, supervisor: Supervisor | undefined): Promise<void> {
  const program = new KubeletProgram(config)
  let stopping = false
  const stop = (why: string): void => {
    if (stopping) process.exit(EXIT_SIGNALLED)
    if (!program.hasNode) process.exit(0)
    stopping = true
    program.stop(why).then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  supervisor?.onGone(() => {
    realClock.setTimer(shutdownMs(config) + stopMarginMs, () => process.exit(1))
    stop('the API server ended')
  })
  await program.start()
}

/** The process that holds the other end of our standard input. When that closes, it is gone, and our containers end. */
class Supervisor {
  #end = (): void => process.exit(1)
  #pods = 'killed'

  constructor() {
    const gone = (): void => this.#end()
    process.stdin.on('end', gone).on('error', gone)
    process.on('SIGHUP', () => {}) // stdin says more than this signal of a supervisor's end
    process.stdin.resume()
  }

  /**
   * Resolves when the server says to begin. It starts the kubelet early, beside itself; only now is there a
   * configuration.
   */
  async saysBegin(): Promise<void> {
    const [words] = (await once(process.stdin, 'data')) as [Buffer]
    this.#pods = /pods are (\w+)/.exec(words.toString())?.[1] ?? this.#pods
  }

  /**
   * Where it wants the pods to end in order, they do. Where it wants them to be kept, we wait: for the next server,
   * which kills us when its own kubelet begins, for SIGTERM from the guardian, or for the guardian's end. Otherwise we
   * end at once, and the shim ends the pods.
   */
  onGone(endPods: () => void): void {
    if (this.#pods === 'kept') {
      this.#end = () => {}
      endWith(passed)
    }
    if (this.#pods !== 'stopped') return
    this.#end = () => {
      report('the API server ended, and its objects were in memory: pods end in order now')
      endPods()
    }
  }
}

/** Writes to the terminal of the cluster, if the cluster has passed it on. */
function report(line: string): void {
  try {
    writeSync(passed, `kubestage: ${line}\n`)
  } catch {
    // It is gone: the log has the same.
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`kubelet: ${error instanceof ConfigError ? error.message : (error as Error).stack}\n`)
  process.exit(error instanceof ConfigError ? error.exitCode : 1)
})
