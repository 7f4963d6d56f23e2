/** An API server of an earlier commit beside the present one, on one etcd, as during an upgrade. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import type { KubeObject, Lease, Pod, WatchEvent } from '../../shared/api/types.ts'
import type { Deployment } from '../../shared/api/workloads/workloads.ts'
import {
  configMaps,
  customResourceDefinitions,
  deployments,
  leases,
  pods,
  services,
  terminations,
} from '../../shared/client/resources.ts'
import { repository } from '../harness/cluster.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { podOf } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { SeparatePrograms } from '../harness/separate-programs.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

/** UPGRADE_FROM names another. The first release's commit takes its place once there is one. */
const earlier = process.env.UPGRADE_FROM ?? '350d1b769dc5b659d36da5984bb6ed62f825e784'
const namespace = 'default'
const fast = [
  '--leader-elect-lease-duration=3s',
  '--leader-elect-renew-deadline=2s',
  '--leader-elect-retry-period=500ms',
]

/** The files of the commit, with the packages of the present one. Undefined: the clone is shallow, or no clone. */
function filesOf(commit: string, folder: string): string | undefined {
  const git = (...args: string[]) => spawnSync('git', ['-C', repository, ...args], { maxBuffer: 1 << 29 })
  if (git('cat-file', '-e', `${commit}^{commit}`).status !== 0) return undefined
  const parts = ['apiserver', 'bin', 'cli', 'cluster', 'controllers', 'kubelet', 'openapi', 'shared', 'package.json']
  const { stdout } = git('archive', commit, ...parts)
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-x', '-C', folder], { input: stdout })
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

const program = etcdPrograms()[0]
const folder = scratchFolder(t, 'upgrade')
const old = program && filesOf(earlier, join(folder, 'earlier'))
if (!program) skipOrFail(t, noEtcd)
else if (!old) t.pass(`this clone has no commit ${earlier}: git fetch --unshallow, or name another in UPGRADE_FROM`)
else
  t.test(`an API server of ${earlier.slice(0, 8)} and the present one`, async (t) => {
    const { url } = await startEtcd(t, program)
    const cluster = new SeparatePrograms(t, { folder, storage: `etcd:${url}` })
    const first = await cluster.startServerOf(old, ...fast)
    const before = await cluster.client()
    await before.create<object>(deployments, deployment(3))
    await cluster.startServerWithLoops(...fast)
    const after = await cluster.client('server-1')
    const both = [
      [before, after, 'earlier'],
      [after, before, 'present'],
    ] as const

    await t.test('each shows at once what the other wrote', async (t) => {
      for (const [one, other, name] of both) {
        const ref = { namespace, name }
        await one.create<object>(configMaps, { metadata: ref, data: { by: name } })
        t.match(await other.get(configMaps, ref), { data: { by: name } })
        await other.patch(configMaps, ref, { data: { changed: 'yes' } })
        t.match(await one.get(configMaps, ref), { data: { by: name, changed: 'yes' } })
        await one.create<object>(services, { metadata: ref, spec: { ports: [{ port: 80 }] } })
      }
      const found = (await after.list<KubeObject & { spec: { clusterIP: string } }>(services, { namespace })).items
      const addresses = found.map(({ spec }) => spec.clusterIP)
      t.equal(new Set(addresses).size, found.length, `${addresses}`)
    })

    await t.test('a watch at each tells of the writes of both, in their order', async (t) => {
      const { metadata } = await before.list(configMaps, { namespace })
      const stop = new AbortController()
      const seen = both.map(([one]) => {
        const told: string[] = []
        void (async () => {
          const query = { namespace, resourceVersion: metadata?.resourceVersion, signal: stop.signal }
          for await (const { type, object } of one.watch<KubeObject>(configMaps, query) as AsyncIterable<
            WatchEvent<KubeObject>
          >)
            told.push(`${type} ${object.metadata.name} ${object.metadata.resourceVersion}`)
        })().catch(() => {})
        return told
      })
      for (let round = 0; round < 5; round++)
        for (const [one, other, name] of both) {
          const ref = { namespace, name: `${name}-${round}` }
          await one.create<object>(configMaps, { metadata: ref })
          await other.delete(configMaps, ref)
        }
      await until(() => seen.every((told) => told.length >= 20), { what: 'the events' })
      t.same(seen[0], seen[1])
      t.equal(seen[0]?.length, 20)
      stop.abort()
    })

    await t.test('a custom resource of each is served by the other', async (t) => {
      for (const [one, other, name] of both) {
        const group = `${name}.example.com`
        await one.create<object>(customResourceDefinitions, definition(group))
        const things = { group, version: 'v1', plural: 'things' }
        await until(() => one.list(things, { namespace }).then(Boolean, () => false), { what: 'the kind' })
        const made = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { namespace, name } }
        await other.create<object>(things, made)
        t.match(await one.get(things, { namespace, name }), { metadata: { name } })
      }
    })

    await t.test('a record at one knows who asked for the deletion at the other, and why', async (t) => {
      for (const [one, other, name] of both) {
        const pod = podOf({ name, command: ['true'], spec: { nodeName: 'node-1' } })
        const { metadata } = await one.create<Pod>(pods, pod, { namespace })
        await one.delete(pods, { namespace, name }, { gracePeriodSeconds: 20, reason: 'Update' })
        t.match(await other.get(pods, { namespace, name }), { metadata: { reason: 'Update' } })
        const record = { metadata: { name, namespace }, podName: name, podUID: metadata.uid, nodeName: 'node-1' }
        const { requests } = await other.create<Termination>(terminations, record as unknown as Termination)
        t.match(requests, [{ user: 'kubernetes-admin', reason: 'Update', gracePeriodSeconds: 20 }])
        await one.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 })
      }
    })

    await t.test('the lead moves from the earlier to the present, and no pod is created twice', async (t) => {
      const count = async () => (await after.list(pods, { namespace, labelSelector: 'app=web' })).items.length
      const lease = async () =>
        (await after.get<Lease>(leases, { namespace: 'kube-system', name: 'kube-controller-manager' })).spec
      await until(async () => (await count()) === 3, { what: 'three pods' })
      const { holderIdentity } = (await lease())!
      const created: string[] = []
      const stop = new AbortController()
      void (async () => {
        const query = { namespace, labelSelector: 'app=web', resourceVersion: '0', signal: stop.signal }
        for await (const { type, object } of after.watch<Pod>(pods, query))
          if (type === 'ADDED') created.push(object.metadata.name ?? '')
      })().catch(() => {})
      await after.patch(deployments, { namespace, name: 'web' }, { spec: { replicas: 20 } })
      first.child.kill('SIGKILL')
      await until(async () => (await lease())?.holderIdentity !== holderIdentity, { what: 'another leader' })
      await until(async () => (await count()) === 20, { what: 'twenty pods' })
      const wanted = { namespace, name: 'web' }
      await until(async () => (await after.get<Deployment>(deployments, wanted)).status?.replicas === 20, {
        what: 'the status',
      })
      await until(() => created.length >= 20, { what: 'the events' })
      t.equal(created.length, 20)
      stop.abort()
    })
  })

const deployment = (replicas: number) => ({
  metadata: { name: 'web', namespace },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'x' }] } },
  },
})

const definition = (group: string) => ({
  metadata: { name: `things.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
})
