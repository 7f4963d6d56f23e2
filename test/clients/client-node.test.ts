/** @kubernetes/client-node against a cluster. Its exec, attach and port-forward are in ../e2e/streaming.test.ts. */
import { PassThrough } from 'node:stream'
import {
  type ApiException,
  AppsV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  Watch,
} from '@kubernetes/client-node'
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { podOf, politeScript } from '../harness/pods.ts'
import { until } from '../harness/until.ts'

const { kubeconfig } = await startTestCluster(t)
const config = new KubeConfig()
config.loadFromFile(kubeconfig)
const core = config.makeApiClient(CoreV1Api)
const apps = config.makeApiClient(AppsV1Api)
const namespace = 'default'
const configMap = (name: string, labels: Record<string, string> = {}): V1ConfigMap => ({
  metadata: { name, labels },
  data: { key: 'value' },
})
const refusal = (call: Promise<unknown>): Promise<{ code: number; reason: string }> =>
  call.then(
    () => ({ code: 0, reason: 'none' }),
    (error: ApiException<string>) => ({ code: error.code, reason: JSON.parse(error.body).reason }),
  )
const isGone = async (name: string): Promise<boolean> =>
  (await refusal(core.readNamespacedConfigMap({ name, namespace }))).code === 404

t.test('create, read, update, delete', async (t) => {
  const created = await core.createNamespacedConfigMap({ namespace, body: configMap('a'), fieldManager: 'us' })
  t.match(created.metadata?.managedFields?.[0]?.manager, 'us')
  t.ok(created.metadata?.creationTimestamp instanceof Date)
  const again = core.createNamespacedConfigMap({ namespace, body: configMap('a') })
  t.same(await refusal(again), { code: 409, reason: 'AlreadyExists' })
  const body = { ...created, data: { key: 'changed' } }
  const updated = await core.replaceNamespacedConfigMap({ name: 'a', namespace, body })
  t.same(updated.data, { key: 'changed' })
  const stale = core.replaceNamespacedConfigMap({ name: 'a', namespace, body })
  t.same(await refusal(stale), { code: 409, reason: 'Conflict' })
  const wrong = core.createNamespacedConfigMap({ namespace, body: configMap('Not a name') })
  t.same(await refusal(wrong), { code: 422, reason: 'Invalid' })
  t.match(await core.deleteNamespacedConfigMap({ name: 'a', namespace }), { status: 'Success' })
})

t.test('patches of every type', async (t) => {
  const { spec } = podOf({ name: 'web', command: ['true'] })
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: spec.containers } }
  const deployment = { replicas: 0, paused: true, selector: { matchLabels: { app: 'web' } }, template }
  await apps.createNamespacedDeployment({
    namespace,
    body: { metadata: { name: 'web' }, spec: deployment },
  } as Parameters<typeof apps.createNamespacedDeployment>[0])
  const patch = async (type: string, body: object, more: { fieldManager?: string; force?: boolean } = {}) => {
    const options = setHeaderOptions('Content-Type', type)
    const patched = await apps.patchNamespacedDeployment({ name: 'web', namespace, body, ...more }, options)
    return patched.spec?.template.spec?.containers.map(({ image }) => image)
  }
  const containers = (...items: object[]) => ({ spec: { template: { spec: { containers: items } } } })
  const path = '/spec/template/spec/containers/0/image'
  t.same(await patch(PatchStrategy.JsonPatch, [{ op: 'replace', path, value: 'a:1' }]), ['a:1'])
  t.same(await patch(PatchStrategy.StrategicMergePatch, containers({ name: 'b', image: 'b:1' })), ['b:1', 'a:1'])
  t.same(await patch(PatchStrategy.MergePatch, containers({ name: 'c', image: 'c:1' })), ['c:1'])
  const applied = { apiVersion: 'apps/v1', kind: 'Deployment', ...containers({ name: 'c', image: 'd:1' }) }
  const conflict = patch(PatchStrategy.ServerSideApply, applied, { fieldManager: 'them' })
  t.same(await refusal(conflict), { code: 409, reason: 'Conflict' })
  t.same(await patch(PatchStrategy.ServerSideApply, applied, { fieldManager: 'them', force: true }), ['d:1'])
  const scale = { name: 'web', namespace, body: { spec: { replicas: 2 } } }
  const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
  t.match(await apps.patchNamespacedDeploymentScale(scale, merge), { spec: { replicas: 2 } })
})

t.test('lists, watches and informers', async (t) => {
  const labelSelector = 'of=us'
  for (const name of ['x', 'y', 'z'])
    await core.createNamespacedConfigMap({ namespace, body: configMap(name, { of: 'us' }) })
  const first = await core.listNamespacedConfigMap({ namespace, labelSelector, limit: 2 })
  t.same(
    first.items.map(({ metadata }) => metadata?.name),
    ['x', 'y'],
  )
  const rest = await core.listNamespacedConfigMap({ namespace, labelSelector, _continue: first.metadata?._continue })
  t.same(
    rest.items.map(({ metadata }) => metadata?.name),
    ['z'],
  )

  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const seen: string[] = []
  const query = { labelSelector, resourceVersion: rest.metadata?.resourceVersion }
  const watch = await new Watch(config).watch(
    path,
    query,
    (type, object: V1ConfigMap) => seen.push(`${type} ${object.metadata?.name}`),
    () => {},
  )
  t.teardown(() => watch.abort())
  const informed: string[] = []
  const list = () => core.listNamespacedConfigMap({ namespace, labelSelector })
  const informer = makeInformer(config, path, list, labelSelector)
  for (const verb of ['add', 'update', 'delete'] as const)
    informer.on(verb, ({ metadata }) => informed.push(`${verb} ${metadata?.name}`))
  await informer.start()
  t.teardown(() => informer.stop())
  t.same(informed.sort(), ['add x', 'add y', 'add z'])
  informed.length = 0
  await core.createNamespacedConfigMap({ namespace, body: configMap('w', { of: 'us' }) })
  await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: 'of=us' })
  await until(() => seen.length === 5 && informed.length === 5, { what: `five events of ${seen} and ${informed}` })
  t.same(seen, ['ADDED w', 'DELETED w', 'DELETED x', 'DELETED y', 'DELETED z'])
  t.same(informed, ['add w', 'delete w', 'delete x', 'delete y', 'delete z'])
})

t.test('deletion of owners', async (t) => {
  for (const propagationPolicy of ['Background', 'Foreground', 'Orphan']) {
    const name = `owner-${propagationPolicy.toLowerCase()}`
    const owner = await core.createNamespacedConfigMap({ namespace, body: configMap(name) })
    const uid = owner.metadata?.uid ?? ''
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, blockOwnerDeletion: true }]
    const dependent = `dependent-${propagationPolicy.toLowerCase()}`
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: dependent, ownerReferences } } })
    await core.deleteNamespacedConfigMap({ name, namespace, propagationPolicy })
    await until(() => isGone(name), { what: `the end of ${name}` })
    if (propagationPolicy !== 'Orphan') await until(() => isGone(dependent), { what: `the end of ${dependent}` })
    else
      t.equal((await core.readNamespacedConfigMap({ name: dependent, namespace })).metadata?.ownerReferences, undefined)
  }
})

t.test('objects of any kind', async (t) => {
  const any = KubernetesObjectApi.makeApiClient(config)
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'any', namespace }, data: { a: 'b' } }
  t.match(await any.create(object), { data: { a: 'b' } })
  const applied = await any.patch(
    { ...object, data: { a: 'c' } },
    undefined,
    undefined,
    'them',
    true,
    PatchStrategy.ServerSideApply,
  )
  t.match(applied, { data: { a: 'c' } })
  t.match(
    (await any.list('v1', 'ConfigMap', namespace)).items.map(({ metadata }) => metadata?.name).includes('any'),
    true,
  )
  await any.delete(object)
  t.ok(await isGone('any'))
})

t.test('a pod: its log, and its eviction', async (t) => {
  const pod = podOf({ name: 'talker', command: ['sh', '-c', `echo hello; ${politeScript}`] })
  await core.createNamespacedPod({ namespace, body: pod } as Parameters<typeof core.createNamespacedPod>[0])
  const phase = async () => (await core.readNamespacedPod({ name: 'talker', namespace })).status?.phase
  await until(async () => (await phase()) === 'Running', { what: 'a running pod' })
  const log = new PassThrough()
  let text = ''
  log.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  await new Log(config).log(namespace, 'talker', 'main', log, { follow: true })
  await until(() => text === 'hello\n', { what: 'the log' })
  await core.createNamespacedPodEviction({ name: 'talker', namespace, body: { metadata: { name: 'talker' } } })
  const isOver = async () => (await refusal(core.readNamespacedPod({ name: 'talker', namespace }))).code === 404
  t.ok(await until(isOver, { what: 'the end of the pod' }))
})
