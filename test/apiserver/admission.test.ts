import t from 'tap'
import { podResources } from '../../shared/api/quantities/resource-list.ts'
import type { KubeObject, Pod, Status } from '../../shared/api/types.ts'
import { isInScopes } from '../../shared/quota/scopes.ts'
import { countedBy, usageOf } from '../../shared/quota/usage.ts'
import { type Received, startTestApiServer } from '../harness/api-server.ts'

const server = await startTestApiServer(t)
const core = '/api/v1/namespaces/default'
const message = ({ body }: Received): string => (body as Status).message ?? ''
const post = (path: string, body: object, headers = {}): Promise<Received> =>
  server.send(path, { method: 'POST', body, headers })
const merge = (path: string, body: object, headers = {}): Promise<Received> =>
  server.send(path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json', ...headers } })
const remove = (path: string): Promise<Received> =>
  server.send(path, { method: 'DELETE', body: { gracePeriodSeconds: 0 } })

type Resources = Record<'requests' | 'limits', Record<string, string>>
const pod = (name: string, resources: Partial<Resources> = {}, spec: object = {}) => ({
  metadata: { name },
  spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i', resources }], ...spec },
})

t.test('limit ranges fill in, and refuse', async (t) => {
  const limits = [
    {
      type: 'Container',
      default: { cpu: '500m' },
      defaultRequest: { cpu: '100m' },
      min: { cpu: '50m' },
      max: { cpu: '1' },
      maxLimitRequestRatio: { cpu: '6' },
    },
    { type: 'Pod', max: { memory: '1Gi' } },
    { type: 'PersistentVolumeClaim', max: { storage: '2Gi' } },
  ]
  await post(`${core}/limitranges`, { metadata: { name: 'l' }, spec: { limits } })
  const made = await post(`${core}/pods`, pod('a', { limits: { memory: '1Gi' } }))
  t.match(made.body, {
    metadata: {
      annotations: {
        'kubernetes.io/limit-ranger': 'LimitRanger plugin set: cpu request for container c; cpu limit for container c',
      },
    },
    spec: {
      containers: [{ resources: { requests: { cpu: '100m', memory: '1Gi' }, limits: { cpu: '500m', memory: '1Gi' } } }],
    },
  })
  const refusals: [Partial<Resources>, string][] = [
    [
      { limits: { cpu: '2', memory: '1Mi' }, requests: { cpu: '1' } },
      'maximum cpu usage per Container is 1, but limit is 2',
    ],
    [
      { limits: { memory: '1Mi' }, requests: { cpu: '10m' } },
      '[minimum cpu usage per Container is 50m, but request is 10m, cpu max limit to request ratio per Container is 6, but provided ratio is 50.000000]',
    ],
    [{ limits: { memory: '2Gi' } }, 'maximum memory usage per Pod is 1Gi, but limit is 2Gi'],
    [{}, 'maximum memory usage per Pod is 1Gi.  No limit is specified'],
  ]
  for (const [resources, why] of refusals)
    t.equal(message(await post(`${core}/pods`, pod('b', resources))), `pods "b" is forbidden: ${why}`)
  const claim = {
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '3Gi' } } },
  }
  t.match(
    message(await post(`${core}/persistentvolumeclaims`, claim)),
    'maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi',
  )
  t.equal((await merge(`${core}/pods/a`, { metadata: { labels: { x: 'y' } } })).status, 200, 'what is there stays')
  await remove(`${core}/limitranges/l`)
  await remove(`${core}/pods/a`)
})

t.test('quotas are counted before anything is had', async (t) => {
  const hard = {
    pods: '2',
    'requests.cpu': '1',
    'services.nodeports': '1',
    'count/roles.rbac.authorization.k8s.io': '1',
  }
  const quota = async (name: string, spec: object) => {
    await post(`${core}/resourcequotas`, { metadata: { name }, spec })
    const used = Object.fromEntries(Object.keys((spec as { hard: object }).hard).map((resource) => [resource, '0']))
    await merge(`${core}/resourcequotas/${name}/status`, { status: { hard: (spec as { hard: object }).hard, used } })
  }
  const used = async (name: string) =>
    ((await server.send(`${core}/resourcequotas/${name}`)).body as { status: { used: object } }).status.used
  await quota('q', { hard })
  t.equal(
    message(await post(`${core}/pods`, pod('a'))),
    'pods "a" is forbidden: failed quota: q: must specify requests.cpu for: c',
  )
  t.equal((await post(`${core}/pods?dryRun=All`, pod('a', { requests: { cpu: '1' } }))).status, 201)
  t.match(await used('q'), { pods: '0' }, 'a dry run takes nothing')
  t.equal((await post(`${core}/pods`, pod('a', { requests: { cpu: '600m' } }))).status, 201)
  t.match(await used('q'), { pods: '1', 'requests.cpu': '600m' })
  t.equal(
    message(await post(`${core}/pods`, pod('b', { requests: { cpu: '500m' } }))),
    'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1',
  )
  const ports = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `p${index}`, port: 80 + index }))
  await post(`${core}/services`, { metadata: { name: 's' }, spec: { type: 'NodePort', ports: ports(1) } })
  t.match(
    message(await merge(`${core}/services/s`, { spec: { ports: ports(2) } })),
    'exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1',
  )
  t.equal(
    (
      await merge(`${core}/services/s`, {
        spec: { type: 'ClusterIP', ports: [{ name: 'p0', port: 80, nodePort: null }] },
      })
    ).status,
    200,
  )
  t.match(await used('q'), { 'services.nodeports': '0' }, 'what an update gives back')
  const role = (name: string) =>
    post('/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', { metadata: { name } })
  t.strictSame([(await role('r')).status, (await role('s')).status], [201, 403])

  await quota('best', { hard: { pods: '0' }, scopes: ['BestEffort'] })
  await merge(`${core}/resourcequotas/q`, { spec: { hard: { pods: '9' } } })
  await merge(`${core}/resourcequotas/q/status`, { status: { hard: { pods: '9', 'requests.cpu': null }, used: {} } })
  t.match(message(await post(`${core}/pods`, pod('b'))), 'exceeded quota: best', 'only of the pods it is meant for')
  t.equal((await post(`${core}/pods`, pod('b', { requests: { cpu: '1m' } }))).status, 201)

  await Promise.all(
    Array.from({ length: 12 }, (_, index) => post(`${core}/pods`, pod(`many-${index}`, { requests: { cpu: '1m' } }))),
  )
  const { items } = (await server.send(`${core}/pods`)).body as { items: KubeObject[] }
  t.equal(items.length, 9, 'no more than granted, however many ask at once')
  for (const { metadata } of items) await remove(`${core}/pods/${metadata.name}`)
  for (const name of ['q', 'best']) await remove(`${core}/resourcequotas/${name}`)
})

t.test('what quotas count', async (t) => {
  const running = {
    spec: {
      containers: [
        { name: 'c', resources: { requests: { cpu: '1', 'example.com/gpu': '2' }, limits: { memory: '1Gi' } } },
      ],
    },
  }
  const usage = (object: object) => usageOf({ group: '', plural: 'pods' }, object as KubeObject, 0)
  t.strictSame(usage({ metadata: {}, ...running }), {
    'count/pods': '1',
    pods: '1',
    cpu: '1',
    'requests.cpu': '1',
    'requests.example.com/gpu': '2',
    'limits.memory': '1Gi',
  })
  t.strictSame(usage({ metadata: {}, ...running, status: { phase: 'Succeeded' } }), { 'count/pods': '1' })
  t.strictSame(countedBy('requests.storage'), { group: '', plural: 'persistentvolumeclaims' })
  t.strictSame(countedBy('count/jobs.batch'), { group: 'batch', plural: 'jobs' })
  t.equal(countedBy('spoons'), undefined)
  const high = {
    scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] },
  }
  const inScope = (spec: object) =>
    isInScopes(high, { group: '', plural: 'pods' }, { metadata: {}, spec } as KubeObject)
  t.strictSame(
    [inScope({ priorityClassName: 'high' }), inScope({ priorityClassName: 'low' }), inScope({})],
    [true, false, false],
  )
  const container = (cpu: string, more = {}) => ({ name: 'c', resources: { requests: { cpu } }, ...more })
  const spec = {
    containers: [container('1')],
    initContainers: [container('3'), container('500m', { restartPolicy: 'Always' }), container('2')],
  }
  t.strictSame(podResources({ spec } as unknown as Pod, 'requests'), { cpu: '3' }, 'the greediest moment')
})

t.test('classes that are the default', async (t) => {
  const classes = '/apis/storage.k8s.io/v1/storageclasses'
  const isDefault = { 'storageclass.kubernetes.io/is-default-class': 'true' }
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  await post(classes, {
    metadata: { name: 'fast', annotations: isDefault },
    provisioner: 'x/y',
    allowVolumeExpansion: true,
  })
  const classOf = async (name: string, more = {}) =>
    (
      (await post(`${core}/persistentvolumeclaims`, { metadata: { name }, spec: { ...spec, ...more } })).body as {
        spec: { storageClassName: string }
      }
    ).spec.storageClassName
  t.equal(await classOf('a'), 'fast')
  t.equal(await classOf('b', { storageClassName: '' }), '', 'none, and said so')
  const grow = { spec: { resources: { requests: { storage: '2Gi' } } } }
  const status = (phase: string) => merge(`${core}/persistentvolumeclaims/a/status`, { status: { phase } })
  t.match(message(await merge(`${core}/persistentvolumeclaims/a`, grow)), 'spec is immutable after creation')
  await status('Bound')
  await merge(`${classes}/fast`, { allowVolumeExpansion: false })
  t.match(
    message(await merge(`${core}/persistentvolumeclaims/a`, grow)),
    'the storageclass that provisions the pvc must support resize',
  )
  await merge(`${classes}/fast`, { allowVolumeExpansion: true })
  t.equal((await merge(`${core}/persistentvolumeclaims/a`, grow)).status, 200)

  const networking = '/apis/networking.k8s.io/v1'
  const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' }
  await post(`${networking}/ingressclasses`, { metadata: { name: 'web', annotations }, spec: { controller: 'x/y' } })
  const backend = { service: { name: 's', port: { number: 80 } } }
  const made = await post(`${networking}/namespaces/default/ingresses`, {
    metadata: { name: 'i' },
    spec: { defaultBackend: backend },
  })
  t.match(made.body, { spec: { ingressClassName: 'web' } })
})

t.test('runtime and priority classes', async (t) => {
  const overhead = { podFixed: { cpu: '100m' } }
  const scheduling = { nodeSelector: { kind: 'vm' }, tolerations: [{ key: 'vm', operator: 'Exists' }] }
  await post('/apis/node.k8s.io/v1/runtimeclasses', { metadata: { name: 'vm' }, handler: 'vm', overhead, scheduling })
  const made = await post(`${core}/pods`, pod('vm', {}, { runtimeClassName: 'vm' }))
  t.match(made.body, {
    spec: { overhead: { cpu: '100m' }, nodeSelector: { kind: 'vm' }, tolerations: [{}, {}, { key: 'vm' }] },
  })
  const refused = async (spec: object) => message(await post(`${core}/pods`, pod('no', {}, spec)))
  t.match(await refused({ runtimeClassName: 'none' }), 'pod rejected: RuntimeClass "none" not found')
  t.match(
    await refused({ runtimeClassName: 'vm', overhead: { cpu: '1' } }),
    "Pod's Overhead doesn't match RuntimeClass's defined Overhead",
  )
  t.match(
    await refused({ overhead: { cpu: '1' } }),
    'Pod Overhead set without corresponding RuntimeClass defined Overhead',
  )
  t.match(
    await refused({ runtimeClassName: 'vm', nodeSelector: { kind: 'metal' } }),
    'conflict: runtimeClass.scheduling.nodeSelector[kind] = vm; pod.spec.nodeSelector[kind] = metal',
  )

  const classes = '/apis/scheduling.k8s.io/v1/priorityclasses'
  t.match(await refused({ priorityClassName: 'nope' }), 'no PriorityClass with name nope was found')
  await post(classes, { metadata: { name: 'usual' }, value: 7, globalDefault: true, preemptionPolicy: 'Never' })
  t.match((await post(`${core}/pods`, pod('usual'))).body, {
    spec: { priority: 7, priorityClassName: 'usual', preemptionPolicy: 'Never' },
  })
  t.match((await post(`${core}/pods`, pod('system', {}, { priorityClassName: 'system-node-critical' }))).body, {
    spec: { priority: 2_000_001_000 },
  })
  t.match(
    message(await post(classes, { metadata: { name: 'other' }, value: 8, globalDefault: true })),
    'PriorityClass usual is already marked as default. Only one default can exist',
  )
  await remove(`${classes}/usual`)
})

/** Of O=system:masters, CN=eve; and of O=team, CN=eve. */
const requests = {
  eve: 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIaE1JR0pBZ0VBTUNjeEZ6QVZCZ05WQkFvTURuTjVjM1JsYlRwdFlYTjBaWEp6TVF3d0NnWURWUVFEREFObApkbVV3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVFHQkkxeGkySFVmcG1mc2dhUVVXTUh5SldXCnlNT3JYbzYxWlJRV0NIY2d5V2NFN2poV3ZsRFJLc2h4TFhHMFdpbjdGT3RVMTJyQm5FVlVJTHpSSE1RZW9BQXcKQ2dZSUtvWkl6ajBFQXdJRFJ3QXdSQUlnRzZaZnozZjFpMUVnSE1iM2ZmTWt0RG9RbDdqbGVBOGk4ZloxZGFDYQpodVlDSUVtcFFYbkVzTkd5RlJjNTRDZG5DLysxWjc1VHY1T1loUExwYnNCUEtwcysKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==',
  friend:
    'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIV01IOENBUUF3SFRFTk1Bc0dBMVVFQ2d3RWRHVmhiVEVNTUFvR0ExVUVBd3dEWlhabE1Ga3dFd1lIS29aSQp6ajBDQVFZSUtvWkl6ajBEQVFjRFFnQUVDdTdFdGI2eGg5U01MN0NwaldIU0hXY1BsbElnMDJaT21qQUN4MnZICit4ekFoZGx4YUdFOVJ0SE5xb01uNW9NOUw0aEhnbWNFdEozVHJvb3RSSVpWY3FBQU1Bb0dDQ3FHU000OUJBTUMKQTBjQU1FUUNJRTZNcWd0cTdPY2ZSb0tOb0FyTFk4VVljU3NCcWtqT0xrZjIrbStSZnBiUkFpQjI3TVRnSzRoMApLSHprRnVLMUovZXhLL0RsTFFSVnR1VUg5cXF3ZVNaMEtBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==',
}

t.test('certificates', async (t) => {
  const group = 'certificates.k8s.io'
  const path = `/apis/${group}/v1/certificatesigningrequests`
  const spec = (request: string) => ({
    request,
    signerName: 'kubernetes.io/kube-apiserver-client',
    usages: ['client auth'],
  })
  const { eve, friend } = requests
  t.match(
    message(await post(path, { metadata: { name: 'eve' }, spec: spec(eve) })),
    'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
  )
  t.equal((await post(path, { metadata: { name: 'friend' }, spec: spec(friend) })).status, 201)
  const rules = [{ apiGroups: [group], resources: ['*'], verbs: ['get', 'patch', 'update'] }]
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  await post(`${rbac}/clusterroles`, { metadata: { name: 'approver' }, rules })
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'approver' }
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' }]
  await post(`${rbac}/clusterrolebindings`, { metadata: { name: 'approver' }, roleRef, subjects })
  const approve = () =>
    merge(
      `${path}/friend/approval`,
      { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'x', message: 'y' }] } },
      { 'impersonate-user': 'jane' },
    )
  t.match(
    message(await approve()),
    'user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client"',
  )
  const signers = { apiGroups: [group], resources: ['signers'], resourceNames: ['kubernetes.io/*'], verbs: ['approve'] }
  await merge(`${rbac}/clusterroles/approver`, { rules: [...rules, signers] })
  t.equal((await approve()).status, 200)
})

t.test('pod security', async (t) => {
  const labels = (rest: Record<string, string>) =>
    Object.fromEntries(Object.entries(rest).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value]))
  const namespace = (name: string, rest: Record<string, string>) =>
    post('/api/v1/namespaces', { metadata: { name, labels: labels(rest) } })
  t.match(
    message(await namespace('wrong', { enforce: 'tight' })),
    'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "tight": must be one of privileged, baseline, restricted',
  )
  await namespace('tight', { enforce: 'restricted', 'enforce-version': 'v1.36', warn: 'baseline' })
  await post('/api/v1/namespaces/tight/serviceaccounts', { metadata: { name: 'default' } })
  const inTight = (name: string, spec: object, container: object = {}) =>
    post('/api/v1/namespaces/tight/pods', {
      metadata: { name },
      spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i', ...container }], ...spec },
    })
  t.equal(
    message(await inTight('a', {})),
    'pods "a" is forbidden: violates PodSecurity "restricted:v1.36": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  )
  const good = { securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } }
  const secure = { securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } } }
  t.equal((await inTight('good', secure, good)).status, 201)
  const bad = { ...secure, hostNetwork: true, volumes: [{ name: 'v', hostPath: { path: '/' } }] }
  t.match(
    message(await inTight('b', bad, { ...good, ports: [{ containerPort: 80, hostPort: 80 }] })),
    'host namespaces (hostNetwork=true), hostPort (container "c" uses hostPort 80), restricted volume types (volume "v" uses restricted volume type "hostPath")',
  )

  const template = {
    metadata: { labels: { a: 'b' } },
    spec: { hostPID: true, containers: [{ name: 'c', image: 'i', securityContext: { privileged: true } }] },
  }
  const made = await post('/apis/apps/v1/namespaces/tight/deployments', {
    metadata: { name: 'd' },
    spec: { selector: { matchLabels: { a: 'b' } }, template },
  })
  t.equal(made.status, 201, 'who makes pods is only warned')
  t.match(
    made.headers.warning,
    'would violate PodSecurity \\"baseline:latest\\": host namespaces (hostPID=true), privileged (container \\"c\\" must not set securityContext.privileged=true)',
  )

  for (const name of ['x', 'y']) await post(`${core}/pods`, pod(name, {}, { hostIPC: true }))
  const stricter = await merge('/api/v1/namespaces/default', { metadata: { labels: labels({ enforce: 'baseline' }) } })
  t.match(
    stricter.headers.warning,
    'existing pods in namespace \\"default\\" violate the new PodSecurity enforce level \\"baseline:latest\\"',
  )
  t.match(stricter.headers.warning, 'x (and 1 other pod): host namespaces')
  t.match(
    message(await post(`${core}/pods`, pod('z', {}, { hostIPC: true }))),
    'violates PodSecurity "baseline:latest": host namespaces (hostIPC=true)',
  )
})
