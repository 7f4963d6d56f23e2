import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { repository, startCommand, startTestCluster, type TestCluster } from '../../harness/cluster.ts'
import { ownPodRange } from '../../harness/own-pod-range.ts'
import { type UntilOptions, until } from '../../harness/until.ts'
import { debianImage, type Recipe } from '../../images/debian-image.ts'
import { client, recipes } from '../../images/recipes.ts'

const run = promisify(execFile)
const asker = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'asker' },
  spec: { containers: [{ name: 'main', image: client.name }], terminationGracePeriodSeconds: 0 },
}

/** A cluster in which manifests are applied as users do it, and a pod that asks them. */
export class Stage {
  private readonly cluster: TestCluster
  private readonly kubectlFile: string
  private readonly loaded = new Set<string>()

  private constructor(cluster: TestCluster, kubectlFile: string) {
    this.cluster = cluster
    this.kubectlFile = kubectlFile
  }

  static async start(t: Test, kubectlFile: string): Promise<Stage> {
    const cluster = await startTestCluster(t, '--network=pod', `--cluster-cidr=${ownPodRange}`)
    const stage = new Stage(cluster, kubectlFile)
    await stage.load(t, client)
    await stage.kubectl(['apply', '-f', '-'], JSON.stringify(asker))
    await stage.kubectl(['wait', '--for=condition=Ready', 'pod/asker', '--timeout=60s'])
    return stage
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

  private async load(t: Test, recipe: Recipe): Promise<void> {
    if (this.loaded.has(recipe.name)) return
    this.loaded.add(recipe.name)
    const load = startCommand(t, ['image', 'load', await debianImage(recipe), `--state-dir=${this.cluster.stateDir}`])
    if ((await load.ended) !== 0) throw new Error(load.output())
  }

  /** Runs kubectl, which has to succeed, and returns what it prints. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const running = run(this.kubectlFile, [`--kubeconfig=${this.cluster.kubeconfig}`, ...args], { timeout: 180_000 })
    running.child.stdin?.end(input)
    return (await running).stdout.trim()
  }

  /** Runs a command in the pod that asks, in a namespace of its own. */
  readonly ask = (...command: string[]): Promise<string> => this.exec('asker', ...command)

  readonly exec = (pod: string, ...command: string[]): Promise<string> => this.kubectl(['exec', pod, '--', ...command])

  /** Gets a page of a Service, by a name. */
  readonly get = (url: string): Promise<string> => this.ask('curl', '-sS', '--fail', '--max-time', '10', url)

  /** Returns what is printed when the command succeeds and prints what is wanted. */
  until(wanted: RegExp, command: () => Promise<string>, { what, timeoutMs }: UntilOptions): Promise<string> {
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
    const { stateDir } = this.cluster
    const shim = Number(readFileSync(join(stateDir, 'kubelet', 'runtime', 'shim.pid'), 'utf8'))
    const links = readdirSync(`/proc/${shim}/fd`).map((fd) => linkOf(`/proc/${shim}/fd/${fd}`))
    return {
      processes: descendants(shim),
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
    t.comment(this.cluster.process.output().split('\n').slice(-40).join('\n'))
  }
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

function descendants(pid: number): number {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
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
