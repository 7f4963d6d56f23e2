/**
 * Attacks by a service account that may create pods, and no more. Neighbours live through each, and so do the kubelet,
 * its shim and a process of the machine; an administrator then deletes the attacker's pods.
 */
import { execFileSync, spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { Event, Node, Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { events, namespaces, nodes, pods, serviceAccounts } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { kubeletPid, startTestCluster, type TestCluster } from '../harness/cluster.ts'
import { podOf } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'
import { attacks } from './attacks.ts'

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
const NEIGHBOURS = 20
const neighbours = 'neighbours'
const namespace = 'attack'
const patient = { timeoutMs: 120_000 }

/** May create pods in one namespace. */
async function attacker(t: Test, { client, access }: TestCluster): Promise<Client> {
  const [name, options] = ['attacker', { namespace }]
  await client.create(serviceAccounts, { metadata: { name } }, options)
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }]
  await client.create({ ...rbac, plural: 'roles' }, { metadata: { name }, rules }, options)
  const roleRef = { apiGroup: rbac.group, kind: 'Role', name }
  const subjects = [{ kind: 'ServiceAccount', name, namespace }]
  await client.create({ ...rbac, plural: 'rolebindings' }, { metadata: { name }, roleRef, subjects }, options)
  const request = { ...options, name, subresource: 'token' }
  const { status } = await client.create<{ status?: { token: string } }>(serviceAccounts, {}, request)
  const { server, ca } = access
  const attacking = createRestClient({ server, ca, token: status?.token ?? '', clock: realClock })
  t.teardown(() => attacking.close())
  return attacking
}

async function startNeighbours(client: Client): Promise<() => Promise<string[]>> {
  const names = Array.from({ length: NEIGHBOURS }, (_, index) => `neighbour-${index}`)
  const create = (name: string) =>
    client.create(pods, podOf({ name, command: ['sleep', '100000'] }), { namespace: neighbours })
  await Promise.all(names.map(create))
  /** Which containers run, since when. */
  return async () => {
    const { items } = await client.list<Pod>(pods, { namespace: neighbours })
    const running = items.flatMap(({ status }) => status?.containerStatuses ?? []).filter(({ state }) => state?.running)
    return running.map(({ containerID, state }) => `${containerID} ${state?.running?.startedAt}`).sort()
  }
}

/** A process, a segment of shared memory, and a server that does not answer. */
async function machine(t: Test) {
  const segment = execFileSync('perl', ['-e', `print shmget(${process.pid}, 100, 0600 | 01000)`], { encoding: 'utf8' })
  t.teardown(() => execFileSync('perl', ['-e', `shmctl(${segment}, 0, 0)`]))
  const bystander = spawn('sleep', ['100000'], { stdio: 'ignore' })
  t.teardown(() => bystander.kill('SIGKILL'))
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket.resume())
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  t.teardown(() => server.close())
  const hasSegment = () =>
    readFileSync('/proc/sysvipc/shm', 'utf8')
      .split('\n')
      .some((line) => line.trim().split(/\s+/)[1] === segment)
  return { bystander, sockets, silentPort: (server.address() as AddressInfo).port, hasSegment }
}

/** The largest file of a pod that lies in no volume. */
function largestFile(folder: string): number {
  const pods = readdirSync(folder)
  const files = pods.flatMap((pod) => readdirSync(path.join(folder, pod)).map((name) => path.join(folder, pod, name)))
  return Math.max(
    0,
    ...files.map((file) => statSync(file, { throwIfNoEntry: false })).map((stat) => (stat?.isFile() ? stat.size : 0)),
  )
}

t.test('who may only create pods harms nobody else', async (t) => {
  const cluster = await startTestCluster(t)
  const { client, stateDir } = cluster
  const {
    items: [node],
  } = await client.list<Node>(nodes)
  if (node?.metadata.labels?.['kubestage.dev/files'] !== 'own')
    return skipOrFail(t, 'this machine lets us mount nothing')
  for (const name of [neighbours, namespace]) await client.create(namespaces, { metadata: { name } })
  const attacking = await attacker(t, cluster)
  await t.rejects(attacking.list(pods, { namespace }), { code: 403 })
  const running = await startNeighbours(client)
  await until(async () => (await running()).length === NEIGHBOURS, { what: 'the neighbours to run', ...patient })
  const { bystander, sockets, silentPort, hasSegment } = await machine(t)
  const shim = () => readFileSync(path.join(stateDir, 'kubelet', 'runtime', 'shim.pid'), 'utf8')
  const isReady = async () =>
    (await client.get<Node>(nodes, { name: node.metadata.name ?? '' })).status?.conditions?.find(
      ({ type }) => type === 'Ready',
    )?.status
  const state = async () => ({
    ready: await isReady(),
    neighbours: await running(),
    kubelet: kubeletPid(cluster),
    shim: shim(),
    bystander: bystander.exitCode ?? bystander.signalCode,
    hasSegment: hasSegment(),
  })
  const before = await state()
  t.match(before, { ready: 'True', bystander: null, hasSegment: true })

  for (const attack of attacks({ silentPort })) {
    await t.test(attack.name, async (t) => {
      for (const pod of attack.pods) await attacking.create(pods, pod, { namespace })
      const told = async () =>
        (await client.list<Event>(events, { namespace })).items.map(({ message }) => message ?? '')
      const names = new Set(attack.pods.map(({ metadata }) => metadata.name))
      const own = async () =>
        (await client.list<Pod>(pods, { namespace })).items.filter(({ metadata }) => names.has(metadata.name))
      const isOver = async () => {
        const texts = await told()
        return (await own()).every((pod) => attack.isOver(pod, texts))
      }
      await until(isOver, { what: attack.name, ...patient })
      t.same(await state(), before)
      await until(() => largestFile(path.join(stateDir, 'kubelet', 'pods')) < 2 * 1024 * 1024, {
        what: 'its files to be small',
      })
      for (const { metadata } of attack.pods) await client.delete(pods, { namespace, name: metadata.name ?? '' })
      const isGone = async () => (await own()).length === 0
      await until(isGone, { what: 'its pods to be gone', ...patient })
      await until(() => sockets.size === 0, { what: 'its connections to be closed' })
      t.same(await state(), before, 'also when its pods are gone')
    })
  }
})
