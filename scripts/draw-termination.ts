// Lets the pod of examples/tour/three-ends.yaml end on a cluster of its own, and draws docs/termination.svg from what
// was recorded.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { resources, startCluster } from '../library/index.ts'
import type { KubeObject, Pod } from '../shared/api/types.ts'
import { drawTermination } from './termination-picture.ts'

const root = join(import.meta.dirname, '..')
const target = { namespace: 'default', name: 'three' }
const [service, pod] = loadAll(readFileSync(join(root, 'examples/tour/three-ends.yaml'), 'utf8')) as [KubeObject, Pod]

await using cluster = await startCluster()
await cluster.client.create(resources.services, service, target)
await cluster.client.create(resources.pods, pod, target)
const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false
await cluster.waitFor<Pod>(resources.pods, target, isReady)
const deletedMs = cluster.clock.now()
await cluster.client.delete(resources.pods, target, { reason: 'Update' })
await cluster.waitForDeleted(resources.pods, target)
const goneMs = cluster.clock.now()
const record = await cluster.terminations.of('three')
writeFileSync(join(root, 'docs/termination.svg'), drawTermination({ pod, record, deletedMs, goneMs }))
