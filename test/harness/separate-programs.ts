import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Test } from 'tap'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { createRestClient, type ServerClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { type CommandRun, cli, programOf, startProgram } from './cluster.ts'
import { killIfThere, processesWith } from './processes.ts'

const ready = '"msg":"ready"'

/** A cluster whose programs are started one by one, as on several machines, with one folder for all. */
export class SeparatePrograms {
  readonly folder: string
  readonly #t: Test
  readonly #storage: string
  readonly urls: string[] = []

  constructor(t: Test, { folder, storage }: { folder: string; storage: string }) {
    this.#t = t
    this.folder = folder
    this.#storage = storage
  }

  file(name: string): string {
    return join(this.folder, name)
  }

  /** Resolves when it serves; its URL is the last of `urls`. */
  async startApiServer(...flags: string[]): Promise<CommandRun> {
    return this.#serving(this.#start([cli, 'apiserver', ...this.#serverFlags(), ...flags]))
  }

  /** The same, with control loops in its process. */
  async startServerWithLoops(...flags: string[]): Promise<CommandRun> {
    return this.#serving(this.#start([programOf('apiserver'), ...this.#serverFlags(), ...flags]))
  }

  /** The same, of the sources in another folder. */
  async startServerOf(root: string, ...flags: string[]): Promise<CommandRun> {
    return this.#serving(this.#start([join(root, 'apiserver', 'main.ts'), ...this.#serverFlags(), ...flags]))
  }

  /** Resolves when its loops run, or those of another process. */
  async startControllers(...flags: string[]): Promise<CommandRun> {
    const controllers = this.#start([
      ...[cli, 'controllers'],
      ...[`--kubeconfig=${this.file('controllers.kubeconfig')}`, `--cert-dir=${this.file('pki')}`],
      ...[`--volumes-dir=${this.file('volumes')}`, `--server=${this.urls.join()}`, ...flags],
    ])
    await controllers.printed(ready)
    return controllers
  }

  /** As an administrator, of the first server, or of `server-1` … */
  async client(server = '.'): Promise<ServerClient> {
    const access = await loadKubeconfig(this.file(join(server, 'kubeconfig')))
    const client = createRestClient({ ...access, clock: realClock, http2: true })
    this.#t.teardown(() => client.close())
    return client
  }

  /** A node that joins with the bootstrap kubeconfig `bootstrap`, which an API server was told to write. */
  startKubelet(nodeName: string): void {
    const rootDir = this.file(nodeName)
    const flags = [
      `--bootstrap-kubeconfig=${this.file('bootstrap')}`,
      `--root-dir=${rootDir}`,
      `--node-name=${nodeName}`,
    ]
    const kubelet = spawn(process.execPath, [programOf('kubelet'), ...flags], { stdio: 'ignore' })
    const ended = once(kubelet, 'exit')
    this.#t.teardown(async () => {
      kubelet.kill('SIGTERM')
      await ended
      for (const pid of processesWith(rootDir)) killIfThere(pid)
    })
  }

  #serverFlags(): string[] {
    const name = this.urls.length === 0 ? '.' : `server-${this.urls.length}`
    return [
      ...['--port=0', `--cert-dir=${this.file('pki')}`, `--storage=${this.#storage}`],
      `--kubeconfig=${this.file(join(name, 'kubeconfig'))}`,
    ]
  }

  async #serving(server: CommandRun): Promise<CommandRun> {
    await server.printed(ready)
    const line =
      server
        .stdout()
        .split('\n')
        .find((text) => text.includes(ready)) ?? '{}'
    this.urls.push(JSON.parse(line).url)
    return server
  }

  #start(args: string[]): CommandRun {
    const run = startProgram(this.#t, args, { cwd: this.folder })
    // One that was halted would not end.
    this.#t.teardown(() => void run.child.kill('SIGCONT'))
    return run
  }
}
