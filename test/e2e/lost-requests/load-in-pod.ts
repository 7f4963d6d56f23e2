/**
 * Sends requests from a pod, which reaches Services whoever runs the cluster. The process of the pod prints what became
 * of them; `node load-in-pod.ts URL…` is that process.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { podOf } from '../../harness/pods.ts'
import { Load, type Sent } from './load.ts'

const NAME = 'load'
const TARGET = 'service/frontend'
type Seen = Pick<Sent, 'answered' | 'failures'> & { lines?: ReturnType<Sent['lines']> }

interface LoadInPodOptions {
  kubectl: { file: string; kubeconfig: string }
  run(args: string[], input?: string): Promise<string>
  urls: readonly string[]
}

export class LoadInPod implements Sent {
  readonly #run: LoadInPodOptions['run']
  readonly #ended: Promise<void>
  #seen: Seen = { answered: 0, failures: [] }

  private constructor({ kubectl, run }: LoadInPodOptions) {
    this.#run = run
    const logs = spawn(kubectl.file, [`--kubeconfig=${kubectl.kubeconfig}`, 'logs', '-f', NAME])
    createInterface(logs.stdout).on('line', (line) => {
      this.#seen = JSON.parse(line)
    })
    this.#ended = new Promise((resolve) => logs.once('close', () => resolve()))
  }

  static async start(options: LoadInPodOptions): Promise<LoadInPod> {
    const command = [process.execPath, import.meta.filename, ...options.urls]
    const pod = podOf({ name: NAME, command, spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 0 } })
    await options.run(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...pod }))
    await options.run(['wait', '--for=condition=Ready', `pod/${NAME}`, '--timeout=120s'])
    return new LoadInPod(options)
  }

  get answered(): number {
    return this.#seen.answered
  }
  get failures(): string[] {
    return this.#seen.failures
  }

  lines(): ReturnType<Sent['lines']> {
    return this.#seen.lines ?? []
  }

  async end(): Promise<void> {
    await this.#run(['exec', NAME, '--', 'sh', '-c', 'kill -TERM 1'])
    await this.#ended
    await this.#run(['delete', 'pod', NAME])
  }
}

if (process.argv[1] === import.meta.filename) {
  const urls = process.argv.slice(2)
  const load = new Load((sent) => urls[sent % urls.length] ?? '')
  const tell = (more = {}): void =>
    console.log(JSON.stringify({ answered: load.answered, failures: load.failures, ...more }))
  const timer = setInterval(tell, 500)
  process.once('SIGTERM', async () => {
    clearInterval(timer)
    await load.end()
    tell({ lines: load.lines(TARGET) })
  })
}
