/**
 * Many pods come and go at each level, while kubelet and shim are killed: nothing is left of them, and pods that live go
 * on. PODS=200 ROUNDS=20 is the whole proof, LEVELS=host,user chooses levels; the suite plays a sample.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openCgroups } from '../../kubelet/runtime/process/cgroups/open-cgroups.ts'
import { possibleIsolation } from '../../kubelet/runtime/process/index.ts'
import { markedProcesses } from '../../kubelet/runtime/process/marker.ts'
import { linkName } from '../../kubelet/runtime/process/network/machine-link.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { networkPolicies, pods, services } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { archiveOf } from '../harness/archive-of.ts'
import { busyboxRoot, noBusybox } from '../harness/busybox-root.ts'
import { type CommandRun, cli, kubeletPid, startProgram } from '../harness/cluster.ts'
import { savedEntries, tarOf } from '../harness/image-archives.ts'
import { ownPodRange } from '../harness/own-pod-range.ts'
import { isReady, podOf } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const PODS = Number(process.env.PODS ?? 6)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
/** A round of many pods takes minutes where the machine has other work. */
const patience = { timeoutMs: 30_000 + PODS * 3_000 }
const namespace = 'default'
const image = 'shop/layers:1'
const podAddress = new RegExp(`${ownPodRange.replace(/0\/24$/, '').replaceAll('.', '\\.')}\\d+`, 'g')
t.setTimeout(10_800_000)

interface Level {
  flags: string[]
  hasNetworks?: true
  /** The cluster is that of a user who is not root. */
  isOrdinary?: true
}
const ownNetworks = ['--network=pod', `--cluster-cidr=${ownPodRange}`]
const levels: Readonly<Record<string, Level>> = {
  host: { flags: ['--network=host', '--limits=none'] },
  pod: { flags: ownNetworks, hasNetworks: true },
  cgroup: { flags: ['--network=host', '--limits=cgroup'] },
  user: { flags: ownNetworks, hasNetworks: true, isOrdinary: true },
}

/** What a node of this folder has of pods, by kind. The pod that lives gets another address when its shim was killed. */
function foundOf(stateDir: string, keeperIP: string): Record<string, unknown> {
  const folder = join(stateDir, 'kubelet')
  const runtimeRoot = join(folder, 'runtime')
  const shim = textOf(join(runtimeRoot, 'shim.pid')).trim()
  const kept = entriesOf(`/proc/${shim}/fd`).map((fd) => `/proc/${shim}/fd/${fd}`)
  const namespaces = kept.filter((file) => /^(net|ipc|mnt|pid|user):/.test(targetOf(file)))
  const networks = namespaces.filter((file) => targetOf(file).startsWith('net:'))
  const within = (file: string, ...command: string[]): string =>
    spawnSync('nsenter', [`--net=${file}`, ...command], { encoding: 'utf8' }).stdout
  const node = networks.find((file) => within(file, 'cat', '/proc/net/dev').includes(' pods:'))
  const ruleset = node === undefined ? '' : within(node, 'nft', 'list', 'ruleset')
  // By table, set and chain, so that what is left is found.
  const rules = new Set(
    ruleset.split(/\n(?=table|\t(?:set|map|chain))/).flatMap((part) => {
      const [head = ''] = part.trim().split('\n')
      return [...(part.match(podAddress) ?? [])].map(
        (address) => `${head.replace(/\b[0-9a-f]{8,}\b/g, '…')} ${address === keeperIP ? 'keeper' : address}`,
      )
    }),
  )
  const mounts = ['/proc/mounts', `/proc/${shim}/mounts`].map(
    (file) =>
      textOf(file)
        .split('\n')
        .filter((line) => line.includes(stateDir)).length,
  )
  const groups = textOf(join(runtimeRoot, 'cgroups')).split('\n').filter(Boolean)
  return {
    namespaces: namespaces.length,
    links: (node && within(node, 'cat', '/proc/net/dev').match(/^pod[0-9a-f]{8}:/gm)?.length) ?? 0,
    addresses: [...rules].sort(),
    processes: [...markedProcesses().keys()].filter((mark) => mark.startsWith(`${runtimeRoot}:`)).length,
    mounts: mounts.join(),
    groups: groups.reduce((sum, group) => sum + groupsBelow(group), 0),
    layers: filesBelow(join(stateDir, 'images')),
    pods: entriesOf(join(folder, 'pods')).length,
    logs: entriesOf(join(folder, 'logs', 'pods')).length,
    files: entriesOf(runtimeRoot).map((name) => `${name} ${entriesOf(join(runtimeRoot, name)).length}`),
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function targetOf(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

const groupsBelow = (folder: string): number =>
  entriesOf(folder)
    .filter((name) => entriesOf(join(folder, name)).length > 0)
    .reduce((sum, name) => sum + 1 + groupsBelow(join(folder, name)), 0)

/** Names of all files below a folder; links of images may lead to the machine's folders, and are not followed. */
const filesBelow = (folder: string): string[] =>
  spawnSync('find', [folder, '-printf', '%P\\n'], { encoding: 'utf8' }).stdout.split('\n').sort()

interface Stage {
  stateDir: string
  client: Client
  command: CommandRun
}

/** Starts a cluster at a level, with a small image. */
async function startAt(t: Test, { flags, isOrdinary }: Level): Promise<Stage> {
  const folder = scratchFolder(t, 'nothing-left')
  chmodSync(folder, 0o777)
  const stateDir = join(folder, 'state')
  const variables = { TMPDIR: folder, HOME: folder }
  const kubestage = (...words: string[]): CommandRun => {
    const own = [cli, ...words, `--state-dir=${stateDir}`]
    if (!isOrdinary) return startProgram(t, own, { variables })
    const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath]
    return startProgram(t, [...nobody, ...own], { node: 'setpriv', cwd: '/', variables })
  }
  const command = kubestage('up', '--port=0', '--max-pods=240', '--pull-images=never', ...flags)
  await command.printed('is ready', 180_000)
  const root = join(folder, 'root')
  mkdirSync(root)
  busyboxRoot(root)
  const layers = [await archiveOf(root), await archiveOf(join(root, 'srv'))]
  const archive = join(folder, 'image.tar')
  writeFileSync(archive, await tarOf(savedEntries({ name: image, layers, config: { Env: ['PATH=/bin'] } })))
  const load = kubestage('image', 'load', archive)
  if ((await load.ended) !== 0) throw new Error(load.output())
  const access = await loadKubeconfig(join(stateDir, 'kubeconfig'))
  const client = createRestClient({ ...access, clock: realClock, requestTimeoutMs: patience.timeoutMs })
  t.teardown(() => client.close())
  return { stateDir, client, command }
}

/** Says why this machine cannot play a level. */
async function whyNot(t: Test, name: string): Promise<string | undefined> {
  const possible = await possibleIsolation({ rootDir: t.testdir() })
  if (possible.files !== 'own') return 'this machine gives pods no networks and files'
  if (process.getuid?.() !== 0) return 'only root looks into all networks'
  if (!busyboxRoot(scratchFolder(t, 'busybox'))) return noBusybox
  for (const tool of ['nft', 'setpriv']) if (spawnSync(tool, ['--version']).status !== 0) return `no ${tool}`
  if (name !== 'cgroup') return undefined
  const groups = await openCgroups(join(t.testdirName, 'groups'))
  if (typeof groups === 'string') return groups
  groups.remove()
  return undefined
}

const chosen = (process.env.LEVELS ?? Object.keys(levels).join()).split(',')
for (const name of chosen) t.test(`many pods, level ${name}`, (t) => play(t, name))

async function play(t: Test, name: string): Promise<void> {
  const level = levels[name]
  if (!level) throw new Error(`no level ${name}: ${Object.keys(levels).join()}`)
  const why = await whyNot(t, name)
  if (why) return skipOrFail(t, why)
  const stage = await startAt(t, level)
  const { client, stateDir } = stage
  const runtimeRoot = join(stateDir, 'kubelet', 'runtime')
  const all = async (): Promise<Pod[]> => {
    await realClock.sleep(PODS) // a list of many pods is work, which the cluster would miss
    return (await client.list<Pod>(pods, { namespace })).items
  }
  const create = (name: string, index = 1) => {
    const files = index % 2 ? {} : { image }
    const pod = podOf({ name, command: ['sleep', '1000'], ...files, spec: { terminationGracePeriodSeconds: 0 } })
    return client.create(pods, { ...pod, metadata: { name, labels: { app: 'web' } } }, { namespace })
  }
  const keeperStatus = async () => (await client.get<Pod>(pods, { namespace, name: 'keeper' })).status
  const keeper = async () => (await keeperStatus())?.containerStatuses?.[0]
  const found = async () => foundOf(stateDir, (await keeperStatus())?.podIP ?? '')
  await client.create(
    services,
    { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } },
    { namespace },
  )
  const spec = { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] }
  await client.create(networkPolicies, { metadata: { name: 'own' }, spec }, { namespace })
  await create('keeper')
  await until(async () => (await all()).every(isReady), { what: 'the pod that lives' })
  const ofService = 'chain end-… { keeper'
  const ofPolicy = ['map entering { keeper', 'set own { keeper', 'set peers-… { keeper']
  const hasRules = async () => {
    const { addresses } = await found()
    return [ofService, ...ofPolicy].every((rule) => (addresses as string[]).includes(rule))
  }
  if (level.hasNetworks) await until(hasRules, { what: 'the rules of the pod that lives' })
  const before = await found()
  t.equal(before.links, level.hasNetworks ? 1 : 0)

  let killed = Number.NaN
  // Of one that was killed a moment ago, nobody knows yet that it is gone.
  const nextKubelet = () => {
    const pid = kubeletPid(stage)
    return pid === killed ? undefined : pid
  }
  const killKubelet = async () => {
    killed = await until(nextKubelet, { what: 'another kubelet to run' })
    process.kill(killed, 'SIGKILL')
  }

  for (let round = 1; round <= ROUNDS; round++) {
    const beganMs = performance.now()
    const first = await keeper()
    const names = Array.from({ length: PODS }, (_, index) => `many-${round}-${index}`)
    await Promise.all(names.map(create))
    const deaths = round % 3
    const isSome = async () => (await all()).filter(isReady).length > PODS / 3
    await until(isSome, { what: 'a third of the pods', ...patience })
    if (deaths !== 1) {
      const shim = Number(readFileSync(join(runtimeRoot, 'shim.pid'), 'utf8'))
      await killKubelet()
      if (deaths === 0) process.kill(shim, 'SIGKILL')
    }
    await until(async () => (await all()).every(isReady), { what: `all pods of round ${round}`, ...patience })
    const readyMs = performance.now()
    if (deaths === 2) t.same(await keeper(), first, 'a pod that lives goes on when its kubelet is killed')
    await Promise.all(names.map((name) => client.delete(pods, { namespace, name })))
    if (deaths === 2) await killKubelet()
    await until(async () => (await all()).length === 1 && isReady((await all())[0] as Pod), {
      what: `the end of round ${round}`,
      ...patience,
    })
    const seconds = [readyMs - beganMs, performance.now() - readyMs].map((ms) => (ms / 1_000).toFixed(1))
    t.comment(`round ${round}: ${PODS} pods are ready after ${seconds[0]} s, and gone after ${seconds[1]} s`)
    const expected = JSON.stringify(before)
    const isClean = async () => JSON.stringify(await found()) === expected
    await until(isClean, { what: 'nothing to be left', timeoutMs: 60_000 }).catch(() => {})
    t.same(await found(), before, `nothing is left after round ${round}`)
  }

  const link = linkName(runtimeRoot)
  const groups = textOf(join(runtimeRoot, 'cgroups')).split('\n').filter(Boolean)
  await stage.command.stop()
  t.notOk(readdirSync('/sys/class/net').includes(link), 'no link')
  t.same(whoMounts(stateDir), [], 'no mount, of any process')
  t.same(
    groups.filter((group) => entriesOf(group).length > 0),
    [],
    'no control group',
  )
  t.notOk(
    [...markedProcesses().keys()].some((mark) => mark.startsWith(runtimeRoot)),
    'no process',
  )
}

/** Processes of this machine that have something of the folder among their mounts. */
const whoMounts = (folder: string): string[] =>
  entriesOf('/proc').filter((pid) => /^\d+$/.test(pid) && textOf(`/proc/${pid}/mountinfo`).includes(folder))
