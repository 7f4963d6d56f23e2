// docker-compose.ha.yml: any container is killed while a Deployment rolls and nodes are drained with reasons.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Termination } from '../../../shared/api/termination.ts'
import type { KubeList } from '../../../shared/api/types.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import type { Docker } from '../../harness/docker.ts'
import { type Kubectl, kubectl } from '../../harness/kubectl.ts'
import { until } from '../../harness/until.ts'

/** A container that was killed is started again after this time, as a machine that comes back. */
const gapMs = 3_000
const timeoutMs = 180_000
const nodes = ['node-0', 'node-1', 'node-2']
const containers = [
  ...['etcd-0', 'etcd-1', 'etcd-2', 'apiserver-0', 'apiserver-1', 'balancer'],
  ...['kubelet-0', 'kubelet-1', 'kubelet-2'],
]
/** A member of etcd, and the API server that leads; `KILLS=all` kills each container in turn. */
const victims = process.env.KILLS === 'all' ? containers : ['etcd-0', 'apiserver-0']
const drained = 'the rack moves'

export interface Sandbox {
  docker: Docker
  tool: Kubectl
  /** Folder of the compose files. */
  project: string
  root: string
  compose(...args: string[]): Promise<string>
}

/** Needs the images `kubestage` and `kubestage-ha`. */
export async function killInTurn(t: Test, sandbox: Sandbox): Promise<void> {
  const { docker, project, root } = sandbox
  const compose = (...args: string[]) => sandbox.compose('-f', 'docker-compose.ha.yml', ...args)
  const kubeconfig = join(project, '.kubestage/kubeconfig')
  t.teardown(() => compose('down', '--volumes', '--remove-orphans'))
  await compose('up', '--detach')
  await until(() => existsSync(kubeconfig), { what: 'the kubeconfig', timeoutMs: 60_000 })
  const client = new RetryingKubectl(t, sandbox.tool, kubeconfig, join(root, 'bin/kubestage-kubectl/kubectl-kubestage'))
  await until(async () => (await client.readyNodes()) === nodes.length, { what: 'three nodes', timeoutMs })
  await client.ask('apply', '-f', join(root, 'examples/ha/app.yaml'))
  await client.ask('rollout', 'status', 'deployment/app', '--timeout=120s')

  const acknowledged: string[] = []
  const write = async (name: string): Promise<void> => {
    await client.ask('create', 'configmap', name)
    acknowledged.push(name)
  }
  for (const [index, victim] of victims.entries()) {
    await t.test(`${victim} is killed`, async (t) => {
      const id = (await compose('ps', '--quiet', victim)).trim()
      const node =
        nodes.find((_, at) => victim !== `kubelet-${at}` && at === index % nodes.length) ?? nodes[(index + 1) % 3]!
      await write(`before-${victim}`)
      await client.ask('set', 'env', 'deployment/app', `ROUND=${victim}`)
      await docker.run('docker', ['kill', id])
      const back = realClock.sleep(gapMs).then(() => docker.run('docker', ['start', id]))
      await write(`during-${victim}`)
      await client.kubestage('drain', node, `--reason=${drained}`, '--ignore-daemonsets', '--delete-emptydir-data')
      await back
      await client.ask('uncordon', node)
      await write(`after-${victim}`)
      await client.ask('rollout', 'status', 'deployment/app', '--timeout=120s')
      await until(async () => (await client.readyNodes()) === nodes.length, { what: 'three nodes again', timeoutMs })
      t.pass(`${node} was drained meanwhile, and the rollout went on`)
    })
  }
  const names = (await client.ask('get', 'configmaps', '-o', 'name')).split('\n')
  for (const name of acknowledged) t.ok(names.includes(`configmap/${name}`), `${name} is kept`)
  const { items } = JSON.parse(await client.ask('get', 'terminations', '-o', 'json')) as KubeList<Termination>
  const hooks = items.flatMap(({ reason, containers = [] }) =>
    containers.flatMap(({ steps }) =>
      steps.filter(({ name }) => name === 'PreStop').map(({ output }) => ({ reason, output })),
    ),
  )
  t.ok(hooks.length >= 4 * victims.length, `${hooks.length} hooks ran`)
  for (const { reason, output } of hooks) {
    t.match(reason, /^(Update|Eviction|the rack moves|IntolerableTaint)$/)
    t.equal(output?.trim(), `reason=${reason}`, 'the hook was told')
  }
  t.ok(
    hooks.some(({ reason }) => reason === drained),
    'drained pods know why',
  )
  t.comment(`${client.calls} calls of kubectl, ${client.retries} of them a second time`)
}

/** kubectl as people use it: what fails is typed once more, and no third time. */
class RetryingKubectl {
  calls = 0
  retries = 0
  readonly #run: (args: string[], tool?: Kubectl) => ReturnType<typeof kubectl>
  readonly #plugin: Kubectl

  constructor(t: Test, tool: Kubectl, kubeconfig: string, plugin: string) {
    this.#run = (args, by = tool) => kubectl(t, by, kubeconfig, args)
    this.#plugin = { file: plugin, version: tool.version }
  }

  async ask(...args: string[]): Promise<string> {
    return await this.#twice(args)
  }

  /** As `kubectl kubestage …`. */
  async kubestage(...args: string[]): Promise<string> {
    return await this.#twice(args, this.#plugin)
  }

  async readyNodes(): Promise<number> {
    const answer = await this.#run(['get', 'nodes', '--no-headers'])
    return answer.stdout.split('\n').filter((line) => / Ready\b/.test(line)).length
  }

  async #twice(args: string[], tool?: Kubectl): Promise<string> {
    this.calls++
    const first = await this.#run(args, tool)
    if (first.code === 0) return first.stdout
    this.retries++
    await realClock.sleep(gapMs * 2)
    const second = await this.#run(args, tool)
    const isDone = /already exists/.test(second.stderr)
    if (second.code !== 0 && !isDone) throw new Error(`kubectl ${args.join(' ')} failed twice: ${second.stderr}`)
    return second.stdout
  }
}
