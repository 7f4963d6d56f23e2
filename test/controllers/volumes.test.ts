import { mkdirSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { claimsProblem } from '../../controllers/scheduler/claims.ts'
import { decide } from '../../controllers/scheduler/decide.ts'
import { NodeInfo, type PresentNode, podInfo } from '../../controllers/scheduler/node-info.ts'
import { matchingVolume } from '../../controllers/volumes/binding.ts'
import type { Event, Pod } from '../../shared/api/types.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../shared/api/volumes.ts'
import { events, persistentVolumeClaims, persistentVolumes, pods } from '../../shared/client/resources.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { decisionContext } from '../harness/scheduling.ts'
import { until } from '../harness/until.ts'

const claimOf = (name: string, spec: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } }, ...spec },
})
const volumeOf = (name: string, spec: Partial<PersistentVolume['spec']> = {}, labels = {}): PersistentVolume => ({
  metadata: { name, labels },
  spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '5Gi' }, hostPath: { path: '/data' }, ...spec },
  status: { phase: 'Available' },
})

t.test('the volume for a claim', async (t) => {
  const best = (claim: PersistentVolumeClaim, ...volumes: PersistentVolume[]) =>
    matchingVolume(claim, volumes)?.metadata.name
  const claim = claimOf('data')
  t.equal(best(claim), undefined)
  t.equal(best(claim, volumeOf('big', { capacity: { storage: '9Gi' } }), volumeOf('fits')), 'fits', 'the smallest')
  t.equal(best(claim, volumeOf('small', { capacity: { storage: '1Gi' } })), undefined)
  t.equal(best(claim, volumeOf('other', { accessModes: ['ReadOnlyMany'] })), undefined)
  t.equal(best(claim, volumeOf('block', { volumeMode: 'Block' })), undefined)
  t.equal(best(claim, volumeOf('classed', { storageClassName: 'fast' })), undefined)
  t.equal(
    best(claimOf('data', { storageClassName: 'fast' }), volumeOf('classed', { storageClassName: 'fast' })),
    'classed',
  )
  t.equal(best(claim, { ...volumeOf('new'), status: { phase: 'Pending' } }), undefined)
  const selects = claimOf('data', { selector: { matchLabels: { disk: 'a' } } })
  t.equal(best(selects, volumeOf('b', {}, { disk: 'b' }), volumeOf('a', {}, { disk: 'a' })), 'a')
  const kept = volumeOf('kept', { claimRef: { namespace: 'default', name: 'data' }, capacity: { storage: '9Gi' } })
  t.equal(best(claim, volumeOf('fits'), kept), 'kept', 'the one that is kept for it')
  t.equal(best(claim, volumeOf('theirs', { claimRef: { namespace: 'default', name: 'other' } })), undefined)
  t.equal(best(claim, volumeOf('was', { claimRef: { namespace: 'default', name: 'data', uid: 'earlier' } })), undefined)
})

t.test('a pod waits for its claims', async (t) => {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }]
  const pod: Pod = { metadata: { name: 'p', namespace: 'default', uid: 'p' }, spec: { containers: [], volumes } }
  const problem = (claim?: PersistentVolumeClaim) => claimsProblem(pod, { get: () => claim })
  const unbound = 'pod has unbound immediate PersistentVolumeClaims'
  t.equal(problem(), 'persistentvolumeclaim "data" not found')
  t.equal(problem(claimOf('data')), unbound)
  t.equal(problem({ ...claimOf('data'), status: { phase: 'Bound' } }), undefined)
  const going = { ...claimOf('data'), metadata: { name: 'data', deletionTimestamp: '2026-01-01T00:00:00Z' } }
  t.equal(problem(going), 'persistentvolumeclaim "data" is being deleted')
  const node = new NodeInfo()
  node.setNode({ metadata: { name: 'n' } })
  t.match(decide(podInfo(pod), [node as PresentNode], decisionContext({ problem: unbound })), {
    message: `0/1 nodes are available: ${unbound}. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.`,
  })
})

t.test('made for a claim, bound to it, and taken back', async (t) => {
  const volumesDir = t.testdir()
  const { client } = await startTestControlPlane(t, { volumesDir })
  const make = (name: string, spec = {}) =>
    client.create<PersistentVolumeClaim>(persistentVolumeClaims, {
      ...claimOf(name, spec),
      metadata: { name, namespace: 'default' },
    })
  const claim = (name: string) =>
    client.get<PersistentVolumeClaim>(persistentVolumeClaims, { namespace: 'default', name })
  const volume = (name: string) => client.get<PersistentVolume>(persistentVolumes, { name })
  const bound = (name: string) =>
    until(async () => ((await claim(name)).status?.phase === 'Bound' ? claim(name) : undefined), {
      what: `${name} to be bound`,
    })
  const says = (reason: string, name: string) =>
    until(
      async () =>
        (
          await client.list<Event>(events, {
            namespace: 'default',
            fieldSelector: `reason=${reason},involvedObject.name=${name}`,
          })
        ).items[0]?.message,
      { what: reason },
    )

  await make('data')
  const { spec, status, metadata } = await bound('data')
  t.match([spec?.storageClassName, status?.capacity], ['standard', { storage: '2Gi' }])
  const name = `pvc-${metadata.uid}`
  const made = await volume(name)
  t.equal(spec?.volumeName, name)
  const folder = join(volumesDir, name)
  t.match(made, {
    spec: { hostPath: { path: folder }, persistentVolumeReclaimPolicy: 'Delete', claimRef: { name: 'data' } },
    status: { phase: 'Bound' },
  })
  mkdirSync(folder)
  await client.delete(persistentVolumeClaims, { namespace: 'default', name: 'data' })
  await until(
    () =>
      access(folder).then(
        () => false,
        () => true,
      ),
    { what: 'the folder to go' },
  )
  await until(
    () =>
      volume(name).then(
        () => false,
        () => true,
      ),
    { what: 'the volume to go' },
  )

  await client.create(
    persistentVolumes,
    volumeOf('by-hand', { persistentVolumeReclaimPolicy: 'Retain', storageClassName: 'slow' }),
  )
  await make('theirs', { storageClassName: 'slow' })
  t.equal((await bound('theirs')).spec?.volumeName, 'by-hand')
  await client.delete(persistentVolumeClaims, { namespace: 'default', name: 'theirs' })
  await until(async () => (await volume('by-hand')).status?.phase === 'Released', { what: 'the volume to be kept' })
  // An administrator has checked it, and releases it.
  await client.patch(persistentVolumes, { name: 'by-hand' }, { spec: { claimRef: null } })
  await make('next', { storageClassName: 'slow' })
  t.equal((await bound('next')).spec?.volumeName, 'by-hand')
  await client.patch(persistentVolumes, { name: 'by-hand' }, { status: { phase: 'Failed' } }, { subresource: 'status' })
  await until(async () => (await volume('by-hand')).status?.phase === 'Bound', {
    what: 'what is true to be said again',
  })

  await make('unknown', { storageClassName: 'none-such' })
  t.equal(await says('ProvisioningFailed', 'unknown'), 'storageclass.storage.k8s.io "none-such" not found')
  await make('classless', { storageClassName: '' })
  t.match(await says('FailedBinding', 'classless'), /no storage class is set$/)

  const template = { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }
  await client.create<Pod>(pods, {
    metadata: { namespace: 'default', name: 'p' },
    spec: {
      containers: [{ name: 'c', image: 'busybox' }],
      volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: template } }],
    },
  })
  const own = await until(() => claim('p-scratch').catch(() => undefined), { what: 'the claim of an ephemeral volume' })
  t.match(own.metadata.ownerReferences, [{ kind: 'Pod', name: 'p' }])
})
