import type { SystemObject } from './system-object.ts'

/** Upstream: apiserver/pkg/apis/flowcontrol/bootstrap/default.go. */

const group = 'flowcontrol.apiserver.k8s.io'
/** Marks an object as one that the server writes again when it starts. */
const written = {
  manager: 'api-priority-and-fairness-config-producer-v1',
  annotations: { 'apf.kubernetes.io/autoupdate-spec': 'true' },
}

const level = (name: string, spec: object): SystemObject => ({
  group,
  version: 'v1',
  plural: 'prioritylevelconfigurations',
  name,
  ...written,
  body: { spec, status: {} },
})

interface Queuing {
  queues: number
  handSize: number
}

/** `shares` of all requests at a time, of which a part may be lent; without queues the rest is refused. */
const limited = (name: string, shares: number, lendablePercent: number, queuing?: Queuing): SystemObject =>
  level(name, {
    type: 'Limited',
    limited: {
      nominalConcurrencyShares: shares,
      lendablePercent,
      limitResponse: queuing ? { type: 'Queue', queuing: { ...queuing, queueLengthLimit: 50 } } : { type: 'Reject' },
    },
  })

const priorityLevels: readonly SystemObject[] = [
  limited('catch-all', 5, 0),
  level('exempt', { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }),
  limited('system', 30, 33, { queues: 64, handSize: 6 }),
  limited('node-high', 40, 25, { queues: 64, handSize: 6 }),
  limited('leader-election', 10, 0, { queues: 16, handSize: 4 }),
  limited('workload-high', 40, 50, { queues: 128, handSize: 6 }),
  limited('workload-low', 100, 90, { queues: 128, handSize: 6 }),
  limited('global-default', 20, 50, { queues: 128, handSize: 6 }),
]

interface Schema {
  name: string
  level: string
  precedence: number
  /** Says what tells flows apart; absent if nothing does. */
  by?: 'ByUser' | 'ByNamespace'
  /** `Group x`, `User x`, `ServiceAccount namespace/x`. */
  subjects: readonly string[]
  /** Names the requests; by default all. */
  rules?: object
}

const everything = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
}
const anybody = ['Group system:unauthenticated', 'Group system:authenticated']

const schemas: readonly Schema[] = [
  { name: 'exempt', level: 'exempt', precedence: 1, subjects: ['Group system:masters'] },
  { name: 'catch-all', level: 'catch-all', precedence: 10000, by: 'ByUser', subjects: anybody },
  { name: 'system-nodes', level: 'system', precedence: 500, by: 'ByUser', subjects: ['Group system:nodes'] },
  {
    name: 'system-node-high',
    level: 'node-high',
    precedence: 400,
    by: 'ByUser',
    subjects: ['Group system:nodes'],
    rules: {
      resourceRules: [
        { verbs: ['*'], apiGroups: [''], resources: ['nodes', 'nodes/status'], clusterScope: true, namespaces: ['*'] },
        { verbs: ['*'], apiGroups: ['coordination.k8s.io'], resources: ['leases'], namespaces: ['*'] },
      ],
    },
  },
  {
    name: 'probes',
    level: 'exempt',
    precedence: 2,
    subjects: anybody,
    rules: { nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }] },
  },
  {
    name: 'system-leader-election',
    level: 'leader-election',
    precedence: 100,
    by: 'ByUser',
    subjects: ['User system:kube-controller-manager', 'User system:kube-scheduler', 'ServiceAccount kube-system/*'],
    rules: {
      resourceRules: [
        {
          verbs: ['get', 'create', 'update'],
          apiGroups: ['coordination.k8s.io'],
          resources: ['leases'],
          namespaces: ['*'],
        },
      ],
    },
  },
  {
    name: 'kube-controller-manager',
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    subjects: ['User system:kube-controller-manager'],
  },
  {
    name: 'kube-scheduler',
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    subjects: ['User system:kube-scheduler'],
  },
  {
    name: 'kube-system-service-accounts',
    level: 'workload-high',
    precedence: 900,
    by: 'ByNamespace',
    subjects: ['ServiceAccount kube-system/*'],
  },
  {
    name: 'service-accounts',
    level: 'workload-low',
    precedence: 9000,
    by: 'ByUser',
    subjects: ['Group system:serviceaccounts'],
  },
  { name: 'global-default', level: 'global-default', precedence: 9900, by: 'ByUser', subjects: anybody },
]

function subjectOf(text: string): object {
  const [kind = '', subject = ''] = text.split(' ')
  if (kind !== 'ServiceAccount') return { kind, [kind.toLowerCase()]: { name: subject } }
  const [namespace, name] = subject.split('/')
  return { kind, serviceAccount: { namespace, name } }
}

const flowSchemas = schemas.map(
  ({ name, level: levelName, precedence, by, subjects, rules = everything }): SystemObject => ({
    group,
    version: 'v1',
    plural: 'flowschemas',
    name,
    ...written,
    body: {
      spec: {
        priorityLevelConfiguration: { name: levelName },
        matchingPrecedence: precedence,
        ...(by && { distinguisherMethod: { type: by } }),
        rules: [{ subjects: subjects.map(subjectOf), ...rules }],
      },
      status: {},
    },
  }),
)

/** The suggested flow schemas and priority levels: which requests wait under load. */
export const flowControl: readonly SystemObject[] = [...priorityLevels, ...flowSchemas]
