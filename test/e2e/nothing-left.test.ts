/**
 * Many pods with networks of their own come and go, while kubelet and shim are killed: nothing is left of them, and pods
 * that live go on. PODS=200 ROUNDS=20 is the whole proof; the suite plays a sample.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { possibleIsolation } from '../../kubelet/runtime/process/index.ts'
import { markedProcesses } from '../../kubelet/runtime/process/marker.ts'
import { linkName } from '../../kubelet/runtime/process/network/machine-link.ts'
import type { Pod } from '../../shared/api/types.ts'
import { networkPolicies, pods, services } from '../../shared/client/resources.ts'
import { kubeletPid, startTestCluster } from '../harness/cluster.ts'
import { ownPodRange } from '../harness/own-pod-range.ts'
import { isReady, podOf } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const PODS = Number(process.env.PODS ?? 15)
const ROUNDS = Number(process.env.ROUNDS ?? 4)
const namespace = 'default'
const podAddress = new RegExp(`${ownPodRange.replace(/0\/24$/, '').replaceAll('.', '\\.')}\\d+`, 'g')

/** What a node of this folder has of pods, by kind. */
function foundOf(runtimeRoot: string): Record<string, unknown> {
  const shim = readFileSync(join(runtimeRoot, 'shim.pid'), 'utf8').trim()
  const networks = readdirSync(`/proc/${shim}/fd`)
    .map((fd) => `/proc/${shim}/fd/${fd}`)
    .filter((file) => targetOf(file).startsWith('net:'))
  const within = (file: string, ...command: string[]): string =>
    spawnSync('nsenter', [`--net=${file}`, ...command], { encoding: 'utf8' }).stdout
  const node = networks.find((file) => within(file, 'cat', '/proc/net/dev').includes(' pods:')) ?? ''
  const rules = new Set(within(node, 'nft', 'list', 'ruleset').match(podAddress))
  const mounts = [readFileSync('/proc/mounts', 'utf8'), readFileSync(`/proc/${shim}/mounts`, 'utf8')].map(
    (text) => text.split('\n').filter((line) => line.includes(runtimeRoot)).length,
  )
  const folder = join(runtimeRoot, '..')
  return {
    networks: networks.length,
    links: within(node, 'cat', '/proc/net/dev').match(/^pod[0-9a-f]{8}:/gm)?.length ?? 0,
    addresses: rules.size,
    processes: [...markedProcesses().keys()].filter((mark) => mark.startsWith(`${runtimeRoot}:`)).length,
    mounts: mounts.join(),
    pods: readdirSync(join(folder, 'pods')).length,
    logs: readdirSync(join(folder, 'logs', 'pods')).length,
    files: readdirSync(runtimeRoot).map((name) => `${name} ${entriesOf(join(runtimeRoot, name))}`),
  }
}

function targetOf(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}

function entriesOf(folder: string): number {
  try {
    return readdirSync(folder).length
  } catch {
    return 0
  }
}

t.test('many pods', async (t) => {
  const possible = await possibleIsolation({ rootDir: t.testdir() })
  if (possible.files !== 'own') return skipOrFail(t, 'this machine gives pods no networks and files')
  if (process.getuid?.() !== 0) return skipOrFail(t, 'only root looks into all networks')
  if (spawnSync('nft', ['--version']).status !== 0) return skipOrFail(t, 'no nft: install nftables')
  const cluster = await startTestCluster(t, '--network=pod', `--cluster-cidr=${ownPodRange}`, '--max-pods=240')
  const { client, stateDir } = cluster
  const runtimeRoot = join(stateDir, 'kubelet', 'runtime')
  const all = async (): Promise<Pod[]> => (await client.list<Pod>(pods, { namespace })).items
  const create = (name: string) =>
    client.create(
      pods,
      {
        ...podOf({ name, command: ['sleep', '1000'], spec: { terminationGracePeriodSeconds: 0 } }),
        metadata: { name, labels: { app: 'web' } },
      },
      { namespace },
    )
  const keeper = async () => {
    const { status } = await client.get<Pod>(pods, { namespace, name: 'keeper' })
    return status?.containerStatuses?.[0]
  }
  await client.create(
    services,
    { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } },
    { namespace },
  )
  const spec = { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] }
  await client.create(networkPolicies, { metadata: { name: 'own' }, spec }, { namespace })
  await create('keeper')
  await until(async () => (await all()).every(isReady), { what: 'the pod that lives' })
  const hasRules = (): boolean => Number(foundOf(runtimeRoot).addresses) > 3
  await until(hasRules, { what: 'the rules of the pod that lives, beside those of node, machine and range' })
  const before = foundOf(runtimeRoot)
  t.equal(before.links, 1)

  for (let round = 1; round <= ROUNDS; round++) {
    const first = await keeper()
    const names = Array.from({ length: PODS }, (_, index) => `many-${round}-${index}`)
    await Promise.all(names.map(create))
    const deaths = round % 3
    const isSome = async () => (await all()).filter(isReady).length > PODS / 3
    await until(isSome, { what: 'a third of the pods' })
    if (deaths !== 1) {
      const shim = Number(readFileSync(join(runtimeRoot, 'shim.pid'), 'utf8'))
      process.kill(kubeletPid(cluster), 'SIGKILL')
      if (deaths === 0) process.kill(shim, 'SIGKILL')
    }
    await until(async () => (await all()).every(isReady), { what: `all pods of round ${round}`, timeoutMs: 120_000 })
    if (deaths === 2) t.same(await keeper(), first, 'a pod that lives goes on when its kubelet is killed')
    await Promise.all(names.map((name) => client.delete(pods, { namespace, name })))
    if (deaths === 2) process.kill(kubeletPid(cluster), 'SIGKILL')
    await until(async () => (await all()).length === 1 && isReady((await all())[0] as Pod), {
      what: `the end of round ${round}`,
      timeoutMs: 120_000,
    })
    const expected = JSON.stringify(before)
    const isClean = (): boolean => JSON.stringify(foundOf(runtimeRoot)) === expected
    await until(isClean, { what: 'nothing to be left', timeoutMs: 60_000 }).catch(() => {})
    t.same(foundOf(runtimeRoot), before, `nothing is left after round ${round}`)
  }

  const link = linkName(runtimeRoot)
  await cluster.process.stop()
  t.notOk(readdirSync('/sys/class/net').includes(link), 'no link')
  t.notOk(readFileSync('/proc/mounts', 'utf8').includes(stateDir), 'no mount')
  t.notOk(
    [...markedProcesses().keys()].some((mark) => mark.startsWith(runtimeRoot)),
    'no process',
  )
})
