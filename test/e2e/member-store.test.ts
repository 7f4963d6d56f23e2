/** examples/member-store as its README runs it: a StatefulSet with a volume for each member, and a command as its hook. */
import { globSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Pod, resources, startCluster, type Termination } from '../../library/index.ts'
import { createSurroundings, createWorkload, exampleFolder, whySkip } from '../harness/member-store/objects.ts'
import { isReady } from '../harness/pods.ts'
import { until } from '../harness/until.ts'

t.setTimeout(180_000)
const namespace = 'default'
const name = 'member-store'
const { configMaps, pods, statefulSets } = resources
const keys = Array.from({ length: 16 }, (_, i) => `key-${i}`)

const cluster = await startCluster()
t.teardown(() => cluster.close())
const { client } = cluster
const skip = await whySkip(client)
const files = readdirSync(exampleFolder).filter((file) => file.endsWith('.mjs'))
const data = Object.fromEntries(files.map((file) => [file, readFileSync(join(exampleFolder, file), 'utf8')]))
await client.create(configMaps, { metadata: { name, namespace }, data })
await createSurroundings(client, namespace)
await createWorkload(client, namespace)

/** Resolves to the pods when there are so many, none of them among `before`, and all are ready. */
const members = (count: number, before: readonly Pod[] = []): Promise<Pod[]> =>
  until(
    async () => {
      const { items } = await client.list<Pod>(pods, { namespace })
      const isOld = ({ metadata }: Pod): boolean => before.some((pod) => pod.metadata.uid === metadata.uid)
      return items.length === count && items.every((pod) => isReady(pod) && !isOld(pod)) ? items : undefined
    },
    { what: `${count} members` },
  )
const urlAt = ({ status }: Pod, key: string): string => `http://${status?.podIP}:8080/keys/${key}`
const valuesAt = (pod: Pod): Promise<string[]> =>
  Promise.all(keys.map(async (key) => (await fetch(urlAt(pod, key))).text()))

/** The reports that members printed in their hooks, when there are so many. */
const reports = (count: number): Promise<{ reason: string; bytes: number }[]> =>
  until(
    async () => {
      const records = await cluster.terminations.list(namespace)
      return records.length === count ? records.map((record) => JSON.parse(hookOutput(record))) : undefined
    },
    { what: `${count} records` },
  )
const hookOutput = ({ containers = [] }: Termination): string =>
  containers[0]?.steps.find((step) => step.name === 'PreStop')?.output ?? ''

t.test('a member that leaves during a flush leaves all its data', async (t) => {
  const { Member } = await import(join(exampleFolder, 'member.mjs'))
  const root = t.testdir()
  const member = new Member({ root, limit: 1, address: '127.0.0.1', pod: 'member', replicas: 2 })
  await member.start()
  const entry = { version: '1', value: 'of key' }
  member.keep('key', entry)
  const flushed = member.flush()
  await member.leave('Update')
  await member.end()
  const [file] = globSync(join(root, '*', 'data.json'))
  t.same(file && JSON.parse(readFileSync(file, 'utf8')), { key: entry })
  await flushed
})

t.test('a flush that fails leaves the next one to succeed', async (t) => {
  const { Member } = await import(join(exampleFolder, 'member.mjs'))
  const root = t.testdir()
  const member = new Member({ root, limit: 1, address: '127.0.0.1', pod: 'member', replicas: 2 })
  await member.start()
  const [folder = ''] = globSync(join(root, '*/'))
  const obstacle = join(folder, 'data.json')
  mkdirSync(obstacle)
  member.keep('key', { version: '1', value: 'of key' })
  await t.rejects(member.flush(), { code: 'EISDIR' })
  rmdirSync(obstacle)
  const entry = { version: '2', value: 'of key' }
  member.keep('key', entry)
  await member.flush()
  t.same(JSON.parse(readFileSync(obstacle, 'utf8')), { key: entry })
  await member.end()
})

t.test('a member that is scaled away moves its data; members that are updated keep theirs', { skip }, async (t) => {
  const [first] = await members(3)
  for (const key of keys) t.equal((await fetch(urlAt(first!, key), { method: 'PUT', body: `of ${key}` })).status, 201)
  await client.patch(statefulSets, { namespace, name }, { spec: { replicas: 2 } })
  const two = await members(2)
  const [scaledAway] = await reports(1)
  t.equal(scaledAway?.reason, 'Decommissioned')
  t.ok(scaledAway!.bytes > 0, 'it had keys that only one other member had')
  t.same(
    await valuesAt(two[1]!),
    keys.map((key) => `of ${key}`),
    'nothing is lost',
  )

  const annotations = { 'example.com/restarted': 'yes' }
  await client.patch(statefulSets, { namespace, name }, { spec: { template: { metadata: { annotations } } } })
  const updated = await members(2, two)
  const others = (await reports(3)).filter(({ reason }) => reason !== 'Decommissioned')
  const still = { reason: 'Update', bytes: 0 }
  t.match(others, [still, still], 'updated members move nothing')
  for (const pod of updated)
    t.same(
      await valuesAt(pod),
      keys.map((key) => `of ${key}`),
      'each finds its data again',
    )
})

t.test('what a member does not take', { skip }, async (t) => {
  const [pod] = await members(2)
  const big = 'x'.repeat(2 ** 20 + 1)
  t.equal((await fetch(urlAt(pod!, 'big'), { method: 'PUT', body: big })).status, 413)
  t.equal((await fetch(urlAt(pod!, 'none'))).status, 404)
  t.equal((await fetch(urlAt(pod!, '%zz'))).status, 400)
  t.equal((await fetch(`http://${pod?.status?.podIP}:8080/`)).status, 404)
})
