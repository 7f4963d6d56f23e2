/** What `kubestage rehearse` reads of manifests as charts and people write them. */
import { join } from 'node:path'
import t from 'tap'
import { readManifests } from '../../../cli/rehearse/manifests.ts'

t.test('manifests are read as Kubernetes reads them', async (t) => {
  const folder = t.testdir({
    'chart.yaml': [
      '# Source: web/templates/empty.yaml',
      '---',
      '# Source: web/templates/config.yaml',
      'apiVersion: v1',
      'kind: Secret',
      'metadata: {name: web}',
      'stringData: {started: 12:30, since: 2026-01-01}',
      '---',
      'apiVersion: v1',
      'kind: Pod',
      'metadata: {generateName: import-}',
      'spec:',
      '  automountServiceAccountToken: no',
      '  volumes: [{name: s, secret: {secretName: web, defaultMode: 0640}}]',
    ].join('\n'),
    'list.json': JSON.stringify(
      { apiVersion: 'v1', kind: 'List', items: [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }] },
      undefined,
      '\t',
    ),
    'no-name.yaml': 'apiVersion: v1\nkind: Pod\nmetadata: {}\n',
    'no-object.yaml': 'kind: List\nitems: [null]\n',
  })
  const read = (...names: string[]) => readManifests(names.map((name) => join(folder, name)))
  const [secret, pod, listed] = (await read('chart.yaml', 'list.json')).map(({ object }) => object)
  t.match(secret, { kind: 'Secret', stringData: { started: '12:30', since: '2026-01-01' } })
  t.match(pod, {
    metadata: { name: 'import' },
    spec: { automountServiceAccountToken: false, volumes: [{ secret: { defaultMode: 0o640 } }] },
  })
  t.match(listed, { metadata: { name: 'a' } })
  const mistake = /: each document must be an object with apiVersion, kind and metadata\.name$/
  await t.rejects(read('no-name.yaml'), mistake)
  await t.rejects(read('no-object.yaml'), mistake)
})
