/** Drains under a disruption budget, taints and hooks over HTTP: through every door the hook is told why, with every kubectl of this machine. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Event, Pod, PodDisruptionBudget } from '../../shared/api/types.ts'
import { events, podDisruptionBudgets, pods } from '../../shared/client/resources.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { findKubectls, type Kubectl } from '../harness/kubectl.ts'
import { followPod, getText } from '../harness/pods.ts'
import { shimShell, startHttpWitness, startWitness } from '../harness/reasons.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const cluster = await startTestCluster(t, '--journal=10000')
const { client, kubeconfig } = cluster
const folder = mkdtempSync(join(tmpdir(), 'kubestage-evictions-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const shellWith = (kubectl: Kubectl) => shimShell(kubectl, { kubeconfig, folder })
const kubectls = findKubectls()
const newest = kubectls.at(-1)
const skip = !newest && 'no kubectl here'

const budgetOf = (name: string): Promise<PodDisruptionBudget> =>
  client.get<PodDisruptionBudget>(podDisruptionBudgets, { namespace, name })

/** Two pods of which a budget wants one. */
const startGuarded = async (app: string): Promise<(() => string)[]> => {
  const selector = { matchLabels: { app } }
  await client.create<PodDisruptionBudget>(podDisruptionBudgets, {
    metadata: { namespace, name: app },
    spec: { minAvailable: 1, selector },
  })
  const told = await Promise.all([1, 2].map((n) => startWitness(`${app}-${n}`, { client, folder, labels: { app } })))
  await until(async () => (await budgetOf(app)).status?.disruptionsAllowed === 1, {
    what: `${app} to allow one disruption`,
  })
  return told
}

/** Whether one of its pods was to be evicted while the budget did not allow it. */
const isRefused = async (app: string): Promise<boolean> => {
  const path = '/kubestage/v1/journal?verb=create&resource=pods/eviction'
  const { items } = JSON.parse(await getText(cluster, path)) as { items: { name: string; code?: number }[] }
  return items.some(({ name, code }) => name.startsWith(app) && code === 429)
}

/** No member is wanted any more. */
const open = (app: string) =>
  client.patch(podDisruptionBudgets, { namespace, name: app }, { spec: { minAvailable: 0 } })

t.test('a drain waits for the budget, and tries again', { skip }, async (t) => {
  await Promise.all(
    kubectls.map(async (kubectl) => {
      const app = `guarded-${kubectl.version.replace('.', '-')}`
      const told = await startGuarded(app)
      const draining = shellWith(kubectl)(['drain', 'node-1', '--force', `--pod-selector=app=${app}`])
      await until(() => isRefused(app), { what: `an eviction that the budget ${app} forbids` })
      await open(app)
      const { code, stdout, stderr } = await draining
      t.equal(code, 0, `kubectl ${kubectl.version}`)
      t.match(stdout, /node\/node-1 drained/)
      t.match(stderr, /\(will retry after 5s\): Cannot evict pod as it would violate the pod's disruption budget\./)
      for (const words of told) t.equal(words(), 'Eviction\n--reason=Eviction\n', 'an evicted pod is told Eviction')
    }),
  )
  t.match(await shellWith(newest!)(['uncordon', 'node-1']), { code: 0 })
})

t.test('the plugin says why, and is refused alike', { skip }, async (t) => {
  const run = shellWith(newest!)
  const reason = 'größe: the rack moves → 変更'
  const [first, second] = await startGuarded('plugin')
  t.match(await run(['kubestage', 'evict', 'plugin-1', `--reason=${reason}`]), { code: 0 })
  t.match(await run(['kubestage', 'evict', 'plugin-2', `--reason=${reason}`]), {
    code: 1,
    stderr: /Cannot evict pod as it would violate the pod's disruption budget\./,
  })
  await open('plugin')
  await until(async () => (await budgetOf('plugin')).status?.disruptionsAllowed, { what: 'the budget to allow it' })
  const drain = ['kubestage', 'drain', 'node-1', '--force', '--pod-selector=app=plugin', `--reason=${reason}`]
  t.match(await run(drain), { code: 0, stdout: /node\/node-1 drained/ })
  for (const told of [first, second])
    t.equal(told?.(), `${reason}\n--reason=${reason}\n`, 'an eviction can have any reason')
  t.match(await run(['uncordon', 'node-1']), { code: 0 })
})

t.test('a hook over HTTP gets the very bytes', { skip }, async (t) => {
  const run = shellWith(newest!)
  const reasons = { plain: 'resolve issue 354961', unicode: 'größe "x" → 変更' }
  for (const [name, reason] of Object.entries(reasons)) {
    const told = await startHttpWitness(name, { client, folder })
    t.match(await run(['delete', 'po', name, `--reason=${reason}`]), { code: 0, stdout: `pod "${name}" deleted` })
    t.equal(told(), `KUBE-POD-TERM-REASON: ${reason}`, 'the header has the very bytes')
  }
})

t.test('kubectl taint', { skip }, async (t) => {
  const run = shellWith(newest!)
  const tolerating = (tolerationSeconds?: number) => ({
    tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds }],
  })
  const start = (name: string, spec?: Partial<Pod['spec']>) => startWitness(name, { client, folder, spec })
  const [leaves, later, saved, stays] = await Promise.all([
    start('leaves'),
    start('later', tolerating(3)),
    start('saved', tolerating(60)),
    start('stays', tolerating()),
  ])
  const deletionOf = async (name: string): Promise<number> => {
    const seen = await (await followPod(client, { namespace, name })).untilDeleted()
    return parseTime(seen.at(-1)?.object.metadata.deletionTimestamp ?? '')
  }
  const deletions = Promise.all(['leaves', 'later'].map(deletionOf))
  t.match(await run(['taint', 'node', 'node-1', 'k=v:NoExecute']), { code: 0 })
  const [atOnce = 0, inTime = 0] = await deletions
  t.ok(inTime - atOnce >= 2_000, 'of three seconds, in whole ones')
  for (const told of [leaves, later]) t.equal(told(), 'IntolerableTaint\n--reason=IntolerableTaint\n', 'told the taint')
  t.match(await run(['taint', 'node', 'node-1', 'k=v:NoExecute-']), { code: 0 })
  const messages = () =>
    client
      .list<Event>(events, { namespace, fieldSelector: 'reason=TaintManagerEviction' })
      .then(({ items }) => items.map(({ message }) => message))
  await until(async () => (await messages()).includes('Cancelling deletion of Pod default/saved'), {
    what: 'the eviction of saved to be called off',
  })
  t.ok((await messages()).includes('Marking for deletion Pod default/leaves'))
  for (const name of ['saved', 'stays']) {
    t.equal((await client.get<Pod>(pods, { namespace, name })).metadata.deletionTimestamp, undefined)
  }
  t.equal(saved() + stays(), '')
})
