// Requests that few clients send, and what a kube-apiserver 1.36.3 answered to them.
import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const deployments = '/apis/apps/v1/namespaces/default/deployments'
const labels = { app: 'web' }
const deployment = {
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'busybox' }] } },
  },
}
const patchOf = (type: string, body: object) => ({ method: 'PATCH', headers: { 'content-type': type }, body })
const merge = 'application/merge-patch+json'

interface Managed {
  metadata: { managedFields: { manager: string; subresource?: string; fieldsV1: object }[] }
}

t.test('a namespace with a generated name has the label with its name', async (t) => {
  const server = await startTestApiServer(t)
  const made = await server.send('/api/v1/namespaces', {
    method: 'POST',
    body: { metadata: { generateName: 'team-' } },
  })
  const { metadata } = made.body as { metadata: { name: string; labels: object } }
  t.match(metadata.name, /^team-/)
  t.same(metadata.labels, { 'kubernetes.io/metadata.name': metadata.name })
  const status = await server.send(`/api/v1/namespaces/${metadata.name}/status`, patchOf(merge, { status: null }))
  t.match(status, { status: 200, body: { status: { phase: 'Active' } } }, 'without a phase it is active')
})

t.test('the uid in the query of a delete is a precondition', async (t) => {
  const server = await startTestApiServer(t)
  const { body } = await server.send(configMaps, { method: 'POST', body: { metadata: { name: 'a' } } })
  const { uid } = (body as { metadata: { uid: string } }).metadata
  t.match(await server.send(`${configMaps}/a?uid=other`, { method: 'DELETE' }), { status: 409 })
  t.match(await server.send(`${configMaps}/a?uid=${uid}`, { method: 'DELETE' }), { status: 200 })
})

t.test('kinds that mark themselves as deleted have the store’s words for preconditions', async (t) => {
  const server = await startTestApiServer(t)
  await server.send('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'b' } } })
  const refused = await server.send('/api/v1/namespaces/b', {
    method: 'DELETE',
    body: { preconditions: { uid: 'x' } },
  })
  t.match(refused, {
    status: 409,
    body: {
      details: { kind: 'namespaces', name: 'b' },
      message: /on namespaces "b": Precondition failed: UID in precondition: x, UID in object meta: /,
    },
  })
})

t.test('what is created is not being deleted, and nobody manages that', async (t) => {
  const server = await startTestApiServer(t)
  const metadata = { name: 'c', deletionTimestamp: '2001-01-01T00:00:00Z', deletionGracePeriodSeconds: 5 }
  const { body } = await server.send(configMaps, { method: 'POST', body: { metadata, data: { a: '1' } } })
  t.notMatch(JSON.stringify(body), 'deletion')
})

t.test('options of lists and watches', async (t) => {
  const server = await startTestApiServer(t)
  const message = async (query: string) =>
    ((await server.send(`${configMaps}?${query}`)).body as { message: string }).message
  const token = 'invalid continue token: continue key is not valid: illegal base64 data at input byte'
  t.equal(await message('continue=bogus'), `${token} 4`)
  t.equal(await message('continue=bogus&resourceVersion=1'), `${token} 4`, 'before what else is wrong')
  t.match(await message('labelSelector=a%20in%20('), "found '', expected: ',', ')' or identifier")
  const forbidden = 'ListOptions.meta.k8s.io "" is invalid: '
  const match = 'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden'
  t.equal(
    await message('watch=true&resourceVersionMatch=Exact'),
    `${forbidden}[${match} for watch unless sendInitialEvents is provided, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]`,
  )
  t.equal(await message('watch=true&continue=x'), `${forbidden}${match} when continue is provided`)
})

t.test('media types', async (t) => {
  const server = await startTestApiServer(t)
  const accepting = (accept: string, path = configMaps) => server.send(path, { headers: { accept } })
  t.match(await accepting('application/JSON'), { status: 406 }, 'are compared as they are written')
  const partial = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
  const empty = '/api/v1/namespaces/none/configmaps'
  t.match(await accepting(partial, empty), { status: 200, body: { kind: 'PartialObjectMetadataList', items: null } })
})

t.test('messages', async (t) => {
  const server = await startTestApiServer(t)
  const owner = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', name, uid: name, controller: true })
  const metadata = { name: 'd', ownerReferences: [owner('a'), owner('b')] }
  t.match(await server.send(configMaps, { method: 'POST', body: { metadata } }), {
    status: 422,
    body: { message: /Found "true" in references for Pod\/a and Pod\/b$/ },
  })
  await server.send(configMaps, { method: 'POST', body: { metadata: { name: 'd' } } })
  const strategic = patchOf('application/strategic-merge-patch+json', [])
  t.match(await server.send(`${configMaps}/d`, strategic), {
    status: 400,
    body: { message: 'json: cannot unmarshal array into Go value of type map[string]interface {}' },
  })
})

t.test('a write of a scale', async (t) => {
  const server = await startTestApiServer(t)
  await server.send(`${deployments}?fieldManager=maker`, { method: 'POST', body: deployment })
  const put = (metadata: object, spec: object = { replicas: 3 }) =>
    server.send(`${deployments}/web/scale?fieldManager=scaler`, {
      method: 'PUT',
      body: { metadata: { name: 'web', ...metadata }, spec },
    })
  t.match(await put({ namespace: 'other' }), {
    status: 400,
    body: { message: 'the namespace of the provided object does not match the namespace sent on the request' },
  })
  t.match(await put({ uid: 'other' }), { status: 409, body: { details: { kind: 'deployments', name: 'web' } } })
  const owners = async () => {
    const { metadata } = (await server.send(`${deployments}/web`)).body as Managed
    return metadata.managedFields
      .filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes('"f:replicas"'))
      .map(({ manager, subresource, fieldsV1 }) => ({ manager, subresource, fieldsV1 }))
  }
  const fieldsV1 = { 'f:spec': { 'f:replicas': {} } }
  await server.send(`${deployments}/web/scale`, patchOf(merge, { metadata: { labels: { a: 'b' } } }))
  t.same(
    await owners(),
    [{ manager: 'maker', subresource: undefined, fieldsV1 }],
    'the owner has an entry for it alone',
  )
  await put({})
  t.same(await owners(), [], 'of two entries of one manager the last is read: the one without the replicas')
  await server.send(`${deployments}/web`, { method: 'DELETE' })
  await server.send(`${deployments}?fieldManager=maker`, { method: 'POST', body: deployment })
  await put({})
  t.same(await owners(), [{ manager: 'scaler', subresource: 'scale', fieldsV1 }])
  await put({}, {})
  t.same(await owners(), [], 'none is not written down, so nobody owns it')
})
