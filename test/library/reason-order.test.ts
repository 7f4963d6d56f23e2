/** Of several reasons for a pod's end one counts, and it is the same one whether the API server or the kubelet evicts. */
import t from 'tap'
import { type Cluster, resources } from '../../library/index.ts'
import { reasonFor } from '../../shared/reasons/reason-table.ts'
import { Stage } from '../harness/situations/index.ts'
import { start } from './stage.ts'

const { pods } = resources
const ANNOTATION = 'kubestage.dev/termination-reason'

/** What pods are told that were given these annotations, by how they are evicted. */
async function told(
  stage: Stage,
  annotations: Record<string, string | undefined>,
  evict: (names: string[]) => Promise<void>,
): Promise<Record<string, string | undefined>> {
  for (const [name, annotation] of Object.entries(annotations)) {
    await stage.pod(name)
    if (annotation !== undefined)
      await stage.patch(pods, name, { metadata: { annotations: { [ANNOTATION]: annotation } } })
  }
  const names = Object.keys(annotations)
  await evict(names)
  const records = await stage.until(async () => {
    const found = await stage.records()
    return found.length >= names.length ? found : undefined
  }, 'their records')
  return Object.fromEntries(records.map(({ podName = '', reason }) => [podName, reason]))
}

const open = (cluster: Cluster, namespace: string): Promise<Stage> => Stage.open({ cluster, namespace })

t.test("a reason in the request, an earlier one, the annotation, the cluster's own", async (t) => {
  const cluster = await start(t, { nodes: 1 })
  const annotations = { plain: undefined, annotated: 'the rack moves', wrong: 'two\nlines', blank: ' ' }
  const own = reasonFor('Pod', 'evicted')
  const expected = { plain: own, annotated: 'the rack moves', wrong: own, blank: own }

  const byServer = await open(cluster, 'by-server')
  t.same(
    await told(byServer, annotations, async (names) => {
      for (const name of names) await byServer.evict(name)
    }),
    expected,
    'evicted by the API server',
  )

  const asked = await open(cluster, 'asked')
  const evictWith = (reason: string) => async (names: string[]) => {
    for (const name of names) await asked.evict(name, { reason })
  }
  t.same(
    await told(asked, { annotated: 'the rack moves' }, evictWith('Update')),
    { annotated: 'Update' },
    'a reason in the request counts more',
  )

  const byKubelet = await open(cluster, 'by-kubelet')
  const shutDown = async (): Promise<void> => {
    const { name } = await byKubelet.node()
    await byKubelet.askKubelet(name, { method: 'POST', path: '/debug/node/shutdown' })
    const areOver = async () => (await byKubelet.pods()).every(({ status }) => status?.phase === 'Failed')
    await byKubelet.until(areOver, 'the pods to have failed')
    await byKubelet.askKubelet(name, { method: 'POST', path: '/debug/node/return' })
  }
  t.same(await told(byKubelet, annotations, shutDown), expected, 'evicted by the kubelet')
})
