import { execFile, spawnSync } from 'node:child_process'
import { chownSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { type CommandRun, cli, repository, startProgram } from '../../harness/cluster.ts'
import { ownPodRange } from '../../harness/own-pod-range.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { type UntilOptions, until } from '../../harness/until.ts'
import { debianImage, type Recipe } from '../../images/debian-image.ts'
import { client, recipes } from '../../images/recipes.ts'

const run = promisify(execFile)
const patienceMs = 300_000
/** A busy machine takes minutes for what takes seconds else. */
export const patience = `--timeout=${patienceMs / 1_000}s`
const nobody = 65_534
const ordinaryUser = join(repository, 'test', 'harness', 'ordinary-user.pl')
const asker = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'asker' },
  spec: { containers: [{ name: 'main', image: client.name }], terminationGracePeriodSeconds: 0 },
}

/** How the programs of a cluster are started: those of root as they are, those of an ordinary user by another program. */
export type Who = 'root' | 'ordinary user'

/** A cluster in which manifests are applied as users do it, and a pod that asks them. */
export class Stage {
  private readonly who: Who
  readonly stateDir: string
  private readonly command: CommandRun
  private readonly kubectlFile: string
  private readonly loaded = new Set<string>()

  private constructor(who: Who, stateDir: string, command: CommandRun, kubectlFile: string) {
    this.who = who
    this.stateDir = stateDir
    this.command = command
    this.kubectlFile = kubectlFile
  }

  static async start(t: Test, kubectlFile: string, who: Who, more: readonly string[] = []): Promise<Stage> {
    const stateDir = scratchFolder(t, 'manifests')
    if (who === 'ordinary user') chownSync(stateDir, nobody, nobody)
    const flags = ['--port=0', '--network=pod', '--pull-images=never', `--cluster-cidr=${ownPodRange}`, ...more]
    const command = startAs(t, who, stateDir, ['up', ...flags])
    await command.printed('is ready', 120_000)
    const stage = new Stage(who, stateDir, command, kubectlFile)
    await stage.load(t, client)
    await stage.kubectl(['apply', '-f', '-'], JSON.stringify(asker))
    await stage.kubectl(['wait', '--for=condition=Ready', 'pod/asker', patience])
    return stage
  }

  get isRoot(): boolean {
    return this.who === 'root'
  }

  /** Gets the page at a port of a pod as this machine does it: by kubectl port-forward. */
  async forwarded(t: Test, namespace: string, pod: string, port: number): Promise<string> {
    const words = [
      `--kubeconfig=${join(this.stateDir, 'kubeconfig')}`,
      'port-forward',
      '-n',
      namespace,
      pod,
      `:${port}`,
    ]
    const forward = startProgram(t, words, { node: this.kubectlFile })
    await forward.printed('Forwarding from 127.0.0.1:', 30_000)
    const [, local] = /127\.0\.0\.1:(\d+)/.exec(forward.output()) ?? []
    const answer = await fetch(`http://127.0.0.1:${local}/`)
    return `${answer.status} ${await answer.text()}`
  }

  /** Loads the images that a manifest names. */
  async loadImagesOf(t: Test, manifest: string): Promise<void> {
    for (const [, name] of readFileSync(manifest, 'utf8').matchAll(/^[\s-]*image: "?([^"\s]+)/gm)) {
      const recipe = recipes.find((one) =>
        [one.name, `docker.io/${one.name}`].some((known) => [name, `${name}:latest`].includes(known)),
      )
      if (recipe) await this.load(t, recipe)
      else t.fail(`no recipe makes the image ${name}`)
    }
  }

  async load(t: Test, recipe: Recipe): Promise<void> {
    if (this.loaded.has(recipe.name)) return
    this.loaded.add(recipe.name)
    const load = startAs(t, this.who, this.stateDir, ['image', 'load', '-'], await debianImage(recipe))
    if ((await load.ended) !== 0) throw new Error(load.output())
  }

  /** Runs kubectl, which has to succeed, and returns what it prints. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const running = run(this.kubectlFile, [`--kubeconfig=${join(this.stateDir, 'kubeconfig')}`, ...args], {
      timeout: patienceMs + 10_000,
    })
    running.child.stdin?.end(input)
    return (await running).stdout.trim()
  }

  /** Runs a command in the pod that asks, in a namespace of its own. */
  readonly ask = (...command: string[]): Promise<string> => this.exec('asker', ...command)

  readonly exec = (pod: string, ...command: string[]): Promise<string> => this.kubectl(['exec', pod, '--', ...command])

  /** Gets a page of a Service, by a name. */
  readonly get = (url: string): Promise<string> => this.ask('curl', '-sS', '--fail', '--max-time', '60', url)

  /** Returns what is printed when the command succeeds and prints what is wanted. */
  until(
    wanted: RegExp,
    command: () => Promise<string>,
    { what, timeoutMs = patienceMs }: UntilOptions,
  ): Promise<string> {
    let last = ''
    const attempt = async (): Promise<string | undefined> => {
      last = await command().catch((error: Error) => error.message)
      return wanted.test(last) ? last : undefined
    }
    return until(attempt, { what, timeoutMs }).catch((error: Error) => {
      throw new Error(`${error.message}; last: ${last}`)
    })
  }

  /** Counts what the node's pods have of the machine. */
  footprint(): { processes: number; mounts: number; networks: number; volumes: string[] } {
    const { stateDir } = this
    // The file of its number is of no use: the cluster may have numbers of its own.
    const [guard = 0, shim = 0] = processesOf('shim.pl', join(stateDir, 'kubelet', 'runtime'))
    const links = readdirSync(`/proc/${shim}/fd`).map((fd) => linkOf(`/proc/${shim}/fd/${fd}`))
    return {
      processes: descendants(guard),
      mounts: readFileSync('/proc/self/mountinfo', 'utf8')
        .split('\n')
        .filter((line) => line.includes(stateDir)).length,
      networks: links.filter((link) => link.startsWith('net:')).length,
      volumes: foldersIn(join(stateDir, 'volumes')),
    }
  }

  /** Prints what helps to see why an application does not run. */
  async diagnose(t: Test): Promise<void> {
    const ask = (...args: string[]): Promise<string> => this.kubectl(args).catch((error: Error) => error.message)
    t.comment(await ask('get', 'all,pvc,pv', '-A', '-o', 'wide'))
    t.comment(await ask('get', 'events', '-A', '--field-selector=type=Warning'))
    for (const name of (await ask('get', 'pods', '-o', 'name')).split('\n'))
      t.comment(name, await ask('logs', '--all-containers', '--tail=20', name))
    t.comment(this.command.output().split('\n').slice(-40).join('\n'))
  }
}

/** Runs `kubestage …` as somebody, with a file as its input. */
function startAs(t: Test, who: Who, stateDir: string, words: string[], input = '/dev/null'): CommandRun {
  const kubestage = [process.execPath, cli, ...words, `--state-dir=${stateDir}`]
  const program = who === 'root' ? kubestage : ['perl', ordinaryUser, ...kubestage]
  const variables = { HOME: stateDir, TMPDIR: stateDir }
  return startProgram(t, ['-c', 'exec "$@" <"$0"', input, ...program], { node: 'bash', variables })
}

/** Says why no cluster of an ordinary user can be started from here. */
export function whyNoOrdinaryUser(): string | undefined {
  const { status, stderr } = spawnSync('perl', [ordinaryUser, process.execPath, cli, '--version'], { encoding: 'utf8' })
  return status === 0 ? undefined : `nobody cannot run kubestage in a user namespace here: ${stderr}`
}

export const manifestOf = (name: string): string => join(repository, 'examples', 'manifests', `${name}.yaml`)

const linkOf = (file: string): string => {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}

const foldersIn = (folder: string): string[] => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

const processes = (): string[] => readdirSync('/proc').filter((name) => /^\d+$/.test(name))

/** Those with both in their command line, oldest first. */
const processesOf = (program: string, folder: string): number[] =>
  processes()
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        return line.includes(program) && line.includes(folder)
      } catch {
        return false // it has ended
      }
    })
    .map(Number)
    .sort((a, b) => a - b)

function descendants(pid: number): number {
  const children = new Map<number, number[]>()
  for (const name of processes()) {
    try {
      const parent = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))?.[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    } catch {
      // it has ended
    }
  }
  const count = (parent: number): number =>
    (children.get(parent) ?? []).reduce((sum, child) => sum + 1 + count(child), 0)
  return count(pid)
}
