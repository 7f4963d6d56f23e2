import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'

const path = '/apis/apps/v1/namespaces/default/deployments'
const labels = { app: 'web' }
const deployment = {
  metadata: { name: 'web' },
  spec: {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'busybox' }] } },
  },
}

t.test('the scale of a workload is applied, with its owner', async (t) => {
  const server = await startTestApiServer(t)
  await server.send(`${path}?fieldManager=maker`, { method: 'POST', body: deployment })
  const apply = (spec: object, query: string, kind = 'Scale') =>
    server.send(`${path}/web/scale?${query}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { apiVersion: 'autoscaling/v1', kind, spec },
    })
  t.match(await apply({ replicas: 3 }, 'fieldManager=scaler'), {
    status: 409,
    body: { message: 'Apply failed with 1 conflict: conflict with "maker" using autoscaling/v1: .spec.replicas' },
  })
  const applied = await apply({ replicas: 3 }, 'fieldManager=scaler&force=true')
  t.match(applied, { status: 200, body: { kind: 'Scale', spec: { replicas: 3 }, status: { selector: 'app=web' } } })

  const { body } = (await server.send(`${path}/web`)) as { body: typeof deployment & { metadata: Managed } }
  t.equal(body.spec.replicas, 3)
  t.match(body.metadata.managedFields, [
    { manager: 'scaler', operation: 'Apply', subresource: 'scale', fieldsV1: { 'f:spec': { 'f:replicas': {} } } },
    { manager: 'maker', operation: 'Update' },
  ])
  t.notOk('f:replicas' in (body.metadata.managedFields[1]?.fieldsV1['f:spec'] ?? {}), 'it is no longer the maker’s')
  t.equal((await apply({ replicas: 3 }, 'fieldManager=other')).status, 200, 'who wants the same shares it')
  t.match(await apply({ replicas: -1 }, 'fieldManager=scaler&force=true'), { status: 422 })
  t.match(await apply({ replicas: 1 }, 'fieldManager=scaler', 'Pod'), {
    status: 400,
    body: { message: 'invalid object type: autoscaling/v1, Kind=Pod' },
  })
})

t.test(
  'a resourceVersion on what is to be created is refused after everything else, and not in a dry run',
  async (t) => {
    const server = await startTestApiServer(t)
    const create = (body: object, query = '') => server.send(`${path}${query}`, { method: 'POST', body })
    const metadata = { name: 'web', resourceVersion: '7' }
    t.match(await create({ ...deployment, metadata }), {
      status: 500,
      body: { message: 'resourceVersion should not be set on objects to be created' },
    })
    t.equal((await create({ ...deployment, metadata }, '?dryRun=All')).status, 201)
    t.equal((await create({ ...deployment, metadata, spec: { ...deployment.spec, replicas: -1 } })).status, 422)
  },
)

interface Managed {
  managedFields: { fieldsV1: Record<string, object> }[]
}
