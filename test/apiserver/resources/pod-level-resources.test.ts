/** Resources of a pod as a whole: what a kube-apiserver 1.36.3 makes of them, and what it refuses. */
import t from 'tap'
import { startTestApiServer } from '../../harness/api-server.ts'

type Amounts = Record<string, string>
interface Resources {
  requests?: Amounts
  limits?: Amounts
}
const server = await startTestApiServer(t)
const huge = 'hugepages-2Mi'

/** Creates a pod of one container by dry run: its resources and class, or the fields and details of what is refused. */
async function made(resources: Resources, container: Resources, more: object = {}): Promise<unknown> {
  const containers = [{ name: 'main', image: 'busybox', resources: container }]
  const { status, body } = await server.send('/api/v1/namespaces/default/pods?dryRun=All', {
    method: 'POST',
    body: { metadata: { name: 'p' }, spec: { resources, containers, ...more } },
  })
  const pod = body as { spec: { resources?: Resources }; status: { qosClass?: string } }
  if (status === 201) return [pod.status.qosClass, pod.spec.resources]
  const { details } = body as { details?: { causes: { field: string; message: string }[] } }
  return details?.causes.map(({ field, message }) => `${field}: ${message}`)
}
const init = (requests: Amounts, rest: object = {}) => ({
  initContainers: [{ name: 'init', image: 'busybox', resources: { requests }, ...rest }],
})
const tooSmall = (own: string, total: string) => [
  `spec.resources.requests[cpu]: Invalid value: "${own}": must be greater than or equal to aggregate container requests of ${total}`,
]

t.test('requests of the containers are the default only where the pod has limits', async (t) => {
  const container = { requests: { cpu: '1', memory: '1Gi' } }
  t.same(await made({}, container), ['BestEffort', {}])
  t.same(await made({ requests: { cpu: '2' } }, container), ['Burstable', { requests: { cpu: '2' } }])
  const limits = { cpu: '5' }
  t.same(await made({ limits }, container), ['Burstable', { limits, requests: container.requests }])
  t.same(await made({ limits }, { limits: { cpu: '2' } }), ['Burstable', { limits, requests: { cpu: '2' } }])
  t.same(await made({ limits }, container, init({ cpu: '3' })), [
    'Burstable',
    { limits, requests: { cpu: '3', memory: '1Gi' } },
  ])
  const both = { cpu: '1', memory: '1Gi' }
  t.same(await made({ limits: both }, {}), ['Guaranteed', { limits: both, requests: both }])
})

t.test('huge pages of the containers are limits of the pod', async (t) => {
  t.same(await made({ requests: { cpu: '1' } }, { limits: { cpu: '1', [huge]: '4Mi' } }), [
    'Burstable',
    { requests: { cpu: '1', [huge]: '4Mi' }, limits: { [huge]: '4Mi' } },
  ])
  t.same(await made({ limits: { [huge]: '2Mi' } }, {}), ['spec.resources: Forbidden: HugePages require cpu or memory'])
})

t.test('a request of the pod is at least that of its containers, at the peak of the initialization too', async (t) => {
  t.same(await made({ requests: { cpu: '500m' } }, { requests: { cpu: '1' } }), tooSmall('500m', '1'))
  const requests = { cpu: '2' }
  t.same(await made({ requests }, { requests: { cpu: '1' } }, init({ cpu: '3' })), tooSmall('2', '3'))
  const sidecar = init({ cpu: '1500m' }, { restartPolicy: 'Always' })
  t.same(await made({ requests }, { requests: { cpu: '1' } }, sidecar), tooSmall('2', '2500m'))
})

t.test('a name that is none is refused as one, and windows has no such resources', async (t) => {
  t.same(await made({ limits: { cpu: '1', constructor: '1' } }, {}), [
    'spec.resources.limits[constructor]: Invalid value: "constructor": must be a standard resource type or fully qualified',
  ])
  t.same(await made({ limits: { cpu: '1' } }, {}, { os: { name: 'windows' } }), [
    'spec.resources: Forbidden: may not be set for a windows pod',
  ])
})
