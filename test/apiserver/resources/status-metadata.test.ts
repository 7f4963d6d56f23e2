import t from 'tap'
import type { ResourceDefinition } from '../../../apiserver/kind/resource-definition.ts'
import { resources } from '../../../apiserver/resources/index.ts'
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { startTestApiServer } from '../../harness/api-server.ts'

/**
 * Answers of a kube-apiserver 1.36.3 to a write of the status that changes labels: kinds of which it keeps them. The
 * others take them, deployments all but the labels.
 */
const kept = [
  'apiservices',
  'flowschemas',
  'prioritylevelconfigurations',
  'resourceclaims',
  'servicecidrs',
  'validatingadmissionpolicies',
  'volumeattachments',
]

const withStatus = resources.filter(({ subresources, virtual }) => subresources?.status && !virtual)

function pathOf({ group, version, namespaced, plural }: ResourceDefinition): string {
  const root = group ? `/apis/${group}/${version}` : `/api/${version}`
  return `${root}${namespaced ? '/namespaces/default' : ''}/${plural}`
}

t.test('metadata that is sent with a status', async (t) => {
  const server = await startTestApiServer(t)
  const change = { metadata: { labels: { sent: 'yes' }, annotations: { sent: 'yes' } } }
  const headers = { 'content-type': 'application/merge-patch+json' }
  for (const definition of withStatus) {
    const { plural, version } = definition
    await t.test(`${plural} ${version}`, async (t) => {
      const example = JSON.parse(JSON.stringify(definition.example)) as KubeObject
      // Two versions of a kind share their names.
      if (plural !== 'customresourcedefinitions') example.metadata.name += `-${version}`
      if (plural === 'apiservices') example.metadata.name = 'v1.things.example.com'
      const path = pathOf(definition)
      const made = await server.send(path, { method: 'POST', body: example })
      t.equal(made.status, 201, JSON.stringify(made.body))
      const url = `${path}/${example.metadata.name}/status?fieldManager=status-writer`
      const { status, body } = await server.send(url, { method: 'PATCH', headers, body: change })
      t.equal(status, 200, JSON.stringify(body))
      const { labels, annotations, managedFields } = (body as KubeObject).metadata
      t.equal(annotations?.sent, kept.includes(plural) ? undefined : 'yes', 'annotations')
      t.equal(labels?.sent, [...kept, 'deployments'].includes(plural) ? undefined : 'yes', 'labels')
      const owns = JSON.stringify(managedFields ?? []).includes('status-writer')
      // Of a node or a request for a certificate nothing was owned before, so that nothing is until the first apply.
      const unmanaged = ['nodes', 'certificatesigningrequests'].includes(plural)
      t.equal(owns, !kept.includes(plural) && !unmanaged, 'managed fields')
    })
  }
})

t.test('the maker of a request for a certificate owns nothing of it', async (t) => {
  const server = await startTestApiServer(t)
  const definition = resources.find(({ plural }) => plural === 'certificatesigningrequests')!
  const path = pathOf(definition)
  const { body } = await server.send(path, { method: 'POST', body: definition.example as object })
  t.equal((body as KubeObject).metadata.managedFields, undefined)
})

t.test('a pod keeps its class of service when a status has none', async (t) => {
  const server = await startTestApiServer(t)
  const definition = resources.find(({ plural }) => plural === 'pods')!
  const path = pathOf(definition)
  const pod = definition.example as unknown as KubeObject
  t.equal((await server.send(path, { method: 'POST', body: pod })).status, 201)
  const { status, body } = await server.send(`${path}/${pod.metadata.name}/status`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { status: null },
  })
  t.equal(status, 200, JSON.stringify(body))
  t.match(body, { status: { qosClass: 'BestEffort' } })
})

const account = (spec: object) => ({
  metadata: { labels: { a: 'b' } },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
})

t.test('both names of the service account of a template', async (t) => {
  const server = await startTestApiServer(t)
  const cases = [
    [{ serviceAccountName: 'new' }, 'new'],
    [{ serviceAccount: 'old' }, 'old'],
    [{ serviceAccountName: 'new', serviceAccount: 'old' }, 'new'],
    [{}, undefined],
  ] as const
  for (const [index, [spec, name]] of cases.entries()) {
    const { status, body } = await server.send('/apis/apps/v1/namespaces/default/deployments', {
      method: 'POST',
      body: {
        apiVersion: apiVersionOf({ group: 'apps', version: 'v1' }),
        kind: 'Deployment',
        metadata: { name: `web-${index}` },
        spec: { selector: { matchLabels: { a: 'b' } }, template: account(spec) },
      },
    })
    t.equal(status, 201, JSON.stringify(body))
    const { serviceAccount, serviceAccountName } = (body as { spec: { template: { spec: Record<string, string> } } })
      .spec.template.spec
    t.same([serviceAccountName, serviceAccount], [name, name], JSON.stringify(spec))
  }
})

t.test('the counter of templates of a DaemonSet', async (t) => {
  const server = await startTestApiServer(t)
  const definition = resources.find(({ plural }) => plural === 'daemonsets')!
  const path = pathOf(definition)
  const generation = 'deprecated.daemonset.template.generation'
  const made = (await server.send(path, { method: 'POST', body: definition.example as object })).body as KubeObject
  t.equal(made.metadata.annotations?.[generation], '1')
  t.match(JSON.stringify(made.metadata.managedFields), `f:${generation}`, 'its maker owns it')
  const url = `${path}/${made.metadata.name}/status`
  const body = { ...made, metadata: { ...made.metadata, annotations: { a: 'b' } } }
  const changed = (await server.send(url, { method: 'PUT', body })).body as KubeObject
  t.same(changed.metadata.annotations, { a: 'b', [generation]: '1' }, 'a write of the status does not remove it')
})
