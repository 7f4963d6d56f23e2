/** Small objects of several kinds, for areas that are about requests and not about fields. */
import type { JsonObject } from '../bases.ts'
import type { Step } from '../case.ts'
import { post } from '../steps.ts'

export interface Sample {
  /** The collection in the namespace of the case; `/api/v1/nodes` and the like have none. */
  collection: string
  /** The same over all namespaces. */
  everywhere: string
  kind: string
  apiVersion: string
  fields: JsonObject
  /** A field that may change, and values for it. */
  change: [path: string, values: readonly unknown[]]
}

const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
const selector = { matchLabels: { app: 'a' } }

const sample = (
  apiVersion: string,
  kind: string,
  fields: JsonObject,
  change: Sample['change'],
  plural = `${kind.toLowerCase()}s`,
): Sample => {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  return {
    collection: `${root}/namespaces/{{name}}/${plural}`,
    everywhere: `${root}/${plural}`,
    kind,
    apiVersion,
    fields,
    change,
  }
}

export const samples: readonly Sample[] = [
  sample('v1', 'ConfigMap', { data: { k: 'v' } }, ['data.k', ['w', '', 1, null]]),
  sample('v1', 'Secret', { data: { k: 'dg==' } }, ['stringData.k', ['w', '', null]]),
  sample(
    'v1',
    'Pod',
    { spec: { ...template.spec, automountServiceAccountToken: false, serviceAccountName: 'default' } },
    ['spec.activeDeadlineSeconds', [5, 4, 6, null]],
  ),
  sample('v1', 'Service', { spec: { ports: [{ port: 80 }], selector: { app: 'a' } } }, [
    'spec.sessionAffinity',
    ['ClientIP', 'None', 'x', null],
  ]),
  sample('v1', 'ServiceAccount', {}, ['automountServiceAccountToken', [true, false, null]]),
  sample(
    'v1',
    'Endpoints',
    { subsets: [{ addresses: [{ ip: '1.2.3.4' }], ports: [{ port: 80 }] }] },
    ['subsets', [[], null, [{ addresses: [{ ip: '1.2.3.5' }] }]]],
    'endpoints',
  ),
  sample('v1', 'PodTemplate', { template }, ['template.spec.hostname', ['a', 'A', null]]),
  sample('v1', 'Event', { involvedObject: { namespace: '{{name}}', kind: 'Pod', name: 'p' }, reason: 'R' }, [
    'reason',
    ['S', '', null],
  ]),
  sample('v1', 'ReplicationController', { spec: { replicas: 1, selector: { app: 'a' }, template } }, [
    'spec.replicas',
    [2, 0, -1, null],
  ]),
  sample(
    'v1',
    'PersistentVolumeClaim',
    {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
    ['spec.resources.requests.storage', ['2Gi', '1Mi']],
  ),
  sample('apps/v1', 'Deployment', { spec: { replicas: 1, selector, template } }, ['spec.replicas', [2, 0, -1, null]]),
  sample('apps/v1', 'ReplicaSet', { spec: { replicas: 1, selector, template } }, ['spec.replicas', [2, 0, -1, null]]),
  sample('apps/v1', 'StatefulSet', { spec: { replicas: 1, selector, template, serviceName: 's' } }, [
    'spec.replicas',
    [2, 0, -1, null],
  ]),
  sample('apps/v1', 'DaemonSet', { spec: { selector, template } }, ['spec.minReadySeconds', [2, 0, -1, null]]),
  sample(
    'batch/v1',
    'Job',
    {
      spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } },
    },
    ['spec.parallelism', [2, 0, -1, null]],
  ),
  sample(
    'batch/v1',
    'CronJob',
    {
      spec: {
        schedule: '* * * * *',
        jobTemplate: { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } },
      },
    },
    ['spec.suspend', [true, false, null]],
  ),
  sample(
    'networking.k8s.io/v1',
    'Ingress',
    {
      spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } },
    },
    ['spec.ingressClassName', ['a', '', null]],
    'ingresses',
  ),
  sample(
    'networking.k8s.io/v1',
    'NetworkPolicy',
    { spec: { podSelector: {} } },
    ['spec.policyTypes', [['Egress'], ['x'], [], null]],
    'networkpolicies',
  ),
  sample('policy/v1', 'PodDisruptionBudget', { spec: { minAvailable: 1, selector } }, [
    'spec.minAvailable',
    ['50%', 2, -1, null],
  ]),
  sample('coordination.k8s.io/v1', 'Lease', { spec: { holderIdentity: 'h' } }, [
    'spec.leaseDurationSeconds',
    [5, 0, -1, null],
  ]),
  sample(
    'rbac.authorization.k8s.io/v1',
    'Role',
    {
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    },
    ['rules', [[], null, [{ verbs: ['get'] }]]],
  ),
  sample(
    'autoscaling/v2',
    'HorizontalPodAutoscaler',
    {
      spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
    },
    ['spec.minReplicas', [2, 0, 4, null]],
  ),
  sample('discovery.k8s.io/v1', 'EndpointSlice', { addressType: 'IPv4', endpoints: [{ addresses: ['1.2.3.4'] }] }, [
    'endpoints',
    [[], null, [{ addresses: ['x'] }]],
  ]),
]

/** Returns the requests that make a namespace for the case alone. Pods need their service account, too. */
export function homeOf({ kind }: Pick<Sample, 'kind'>): Step[] {
  const made = post('/api/v1/namespaces', { metadata: { name: '{{name}}' } })
  if (kind !== 'Pod') return [made]
  return [made, post('/api/v1/namespaces/{{name}}/serviceaccounts', { metadata: { name: 'default' } })]
}

/** Returns an object of the sample's kind. */
export const objectOf = ({ apiVersion, kind, fields }: Sample, metadata: JsonObject): JsonObject => ({
  apiVersion,
  kind,
  metadata,
  ...structuredClone(fields),
})
