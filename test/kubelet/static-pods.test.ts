import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { mirrorOf, podFromManifest } from '../../kubelet/static/manifest.ts'
import { watchManifests } from '../../kubelet/static/manifest-folder.ts'
import { StaticPods } from '../../kubelet/static/static-pods.ts'
import type { Pod } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { until } from '../harness/until.ts'

const manifest = (image: string, name = 's') =>
  JSON.stringify({ kind: 'Pod', metadata: { name, namespace: 'ns' }, spec: { containers: [{ name: 'c', image }] } })
const read = (text: string) =>
  podFromManifest({ text, file: '/m/s.json', nodeName: 'n1', seen: '2026-01-01T00:00:00Z' })

t.test('a file that is a pod', async (t) => {
  const pod = await read(manifest('a'))
  t.match(pod, {
    metadata: { name: 's-n1', namespace: 'ns', annotations: { 'kubernetes.io/config.source': 'file' } },
    spec: { nodeName: 'n1', restartPolicy: 'Always', tolerations: [{ operator: 'Exists', effect: 'NoExecute' }] },
  })
  t.equal((await read(manifest('a'))).metadata.uid, pod.metadata.uid, 'the same file is the same pod')
  t.not((await read(manifest('b'))).metadata.uid, pod.metadata.uid, 'a changed one is another')
  t.match(await read('kind: Pod\nmetadata: {name: z}\nspec: {containers: [{name: c}]}'), { metadata: { name: 'z-n1' } })
  const deleted = { reason: 'Update', deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 1 }
  const { metadata, ...rest } = JSON.parse(manifest('a'))
  const told = await read(JSON.stringify({ metadata: { ...metadata, ...deleted }, ...rest }))
  t.same(told, pod, 'what only the API server sets, when a pod is deleted, is ignored')
  const octal =
    'kind: Pod\nmetadata: {name: z}\nspec: {containers: [{name: c}], volumes: [{secret: {secretName: s, defaultMode: 0640}}]}'
  t.match(await read(octal), { spec: { volumes: [{ secret: { defaultMode: 0o640 } }] } })
  await t.rejects(read('kind: Service\nmetadata: {name: y}'), { message: '/m/s.json is not the manifest of a pod' })
  await t.rejects(read('{'), SyntaxError)

  const mirror = mirrorOf(pod, { name: 'n1', uid: 'u1' })
  t.equal(mirror.metadata.uid, undefined)
  t.equal(
    mirror.metadata.annotations?.['kubernetes.io/config.mirror'],
    pod.metadata.annotations?.['kubernetes.io/config.hash'],
  )
  t.match(mirror.metadata.ownerReferences, [{ kind: 'Node', name: 'n1', uid: 'u1', controller: true }])
})

t.test('one pod of a name at a time, and its picture in the API', async (t) => {
  const seen: string[] = []
  const handle = (what: string) => (pod: Pod) => void seen.push(`${what} ${pod.spec.containers[0]?.image}`)
  const statics = new StaticPods({
    mirrors: { ensure: handle('show'), remove: handle('hide') },
    next: {
      onAdd: handle('add'),
      onUpdate: handle('update'),
      onReconcile: handle('reconcile'),
      onRemove: handle('remove'),
    },
  })
  const [a, b] = [await read(manifest('a')), await read(manifest('b'))]
  const picture = (pod: Pod): Pod => mirrorOf(pod, { name: 'n1', uid: 'u1' })
  statics.want([a])
  t.same(seen.splice(0).sort(), ['add a', 'show a', 'show a'])
  statics.onAdd(picture(a))
  t.same(seen.splice(0), ['reconcile a'], 'its status is told now')
  statics.want([a])
  t.same(seen.splice(0), [], 'nothing has changed')
  t.equal(statics.shownBy(picture(a)), a)

  statics.onRemove(picture(a))
  t.same(seen.splice(0), ['show a'], 'a picture that somebody deleted comes back; the pod is not touched')
  statics.onAdd(picture(a))
  seen.splice(0)

  statics.want([b])
  t.same(seen.splice(0), ['remove a'], 'the one before ends first')
  t.equal(statics.isCurrent(a), false)
  statics.over(a.metadata.uid ?? '')
  t.same(seen.splice(0).sort(), ['add b', 'show b'])
  statics.onAdd(picture(b))
  statics.want([])
  t.same(seen.splice(0), ['reconcile b', 'remove b'])
  statics.over(b.metadata.uid ?? '')
  t.same(seen.splice(0), ['hide b'], 'the picture goes when the pod has')
  statics.onAdd(picture(a))
  t.same(seen.splice(0), ['hide a'], 'one without a pod goes, too')

  const other: Pod = { metadata: { name: 'web', namespace: 'ns', uid: '1' }, spec: { containers: [{ name: 'c' }] } }
  statics.onAdd(other)
  statics.onRemove(other)
  t.same(seen.splice(0), ['add undefined', 'remove undefined'], 'pods of the API go their own way')
})

t.test('a folder of manifests', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubestage-manifests-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = (name: string) => path.join(folder, name)
  writeFileSync(file('a.json'), manifest('a'))
  writeFileSync(file('.hidden'), manifest('x', 'x'))
  writeFileSync(file('bad.yaml'), 'kind: Nothing')
  let pods: Pod[] = []
  const problems = new Set<string>()
  const watching = watchManifests({
    folder,
    nodeName: 'n1',
    clock: realClock,
    onPods: (found) => {
      pods = found
    },
    onError: (_error, where) => problems.add(path.basename(where)),
  })
  t.teardown(() => watching.close())
  await watching.read
  t.same(
    pods.map(({ metadata }) => metadata.name),
    ['s-n1'],
  )
  t.same([...problems], ['bad.yaml'])
  writeFileSync(file('b.yaml'), manifest('b', 'b'))
  await until(() => pods.length === 2, { what: 'the new file' })
  rmSync(file('a.json'))
  await until(() => pods.length === 1 && pods[0]?.metadata.name === 'b-n1', { what: 'the file that is left' })
})
