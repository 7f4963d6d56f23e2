/** What the objects that are updated hold beyond the examples of their kinds, so that there is something to change. */
export interface Base {
  plural: string
  /** A further object of the kind, when it has another name than '': asked only about its spec and status. */
  as?: string
  /** Merged into the example: lists replace lists. */
  with: Record<string, unknown>
  /** Written to the status subresource after the create. */
  status?: Record<string, unknown>
  /** The server itself writes into a new object until it has this condition. */
  settles?: string
}

const metadata = { labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['example.com/kept'] }
const conditions = (...types: string[]) => types.map((type) => ({ type, status: 'True', reason: 'Set', message: '' }))

const podSpec = {
  initContainers: [{ name: 'first', image: 'busybox:1.37' }],
  containers: [
    {
      name: 'web',
      image: 'busybox:1.37',
      command: ['sleep', '3600'],
      env: [{ name: 'A', value: 'b' }],
      ports: [{ name: 'http', containerPort: 80 }],
      resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } },
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
    },
  ],
  volumes: [{ name: 'data', emptyDir: {} }],
  tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
  nodeSelector: { disk: 'fast' },
  activeDeadlineSeconds: 100,
}

export const bases: Base[] = [
  {
    plural: 'pods',
    with: { metadata, spec: { ...podSpec, nodeName: 'node-1', restartPolicy: 'Never' } },
    status: {
      phase: 'Running',
      conditions: conditions('Ready', 'PodScheduled'),
      hostIP: '10.0.0.1',
      hostIPs: [{ ip: '10.0.0.1' }],
      podIP: '10.1.0.1',
      podIPs: [{ ip: '10.1.0.1' }],
      containerStatuses: [
        {
          name: 'web',
          image: 'busybox:1.37',
          imageID: '',
          ready: false,
          restartCount: 1,
          state: { terminated: { exitCode: 1, reason: 'Error' } },
        },
      ],
    },
  },
  { plural: 'pods', as: 'gated', with: { spec: { ...podSpec, schedulingGates: [{ name: 'example.com/gate' }] } } },
  { plural: 'configmaps', with: { metadata, binaryData: { raw: 'eA==' } } },
  { plural: 'configmaps', as: 'immutable', with: { immutable: true } },
  { plural: 'secrets', with: { metadata } },
  { plural: 'secrets', as: 'immutable', with: { immutable: true } },
  { plural: 'nodes', with: { metadata, spec: { podCIDR: '10.2.0.0/24', podCIDRs: ['10.2.0.0/24'], providerID: 'x://1' } } },
  {
    plural: 'persistentvolumeclaims',
    with: { spec: { storageClassName: 'disks', volumeName: 'disk-1' } },
    status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] },
  },
  { plural: 'persistentvolumeclaims', as: 'pending', with: {} },
  {
    plural: 'persistentvolumes',
    with: { spec: { claimRef: { namespace: 'default', name: 'data' }, storageClassName: 'disks' } },
    status: { phase: 'Bound' },
  },
  {
    plural: 'persistentvolumes',
    as: 'csi',
    with: {
      spec: {
        hostPath: null,
        csi: { driver: 'disk.example.com', volumeHandle: 'x' },
        nodeAffinity: {
          required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }] },
        },
      },
    },
  },
  { plural: 'replicationcontrollers', with: {}, status: { replicas: 2, readyReplicas: 1, availableReplicas: 1 } },
  { plural: 'replicasets', with: {}, status: { replicas: 2, readyReplicas: 1, availableReplicas: 1 } },
  {
    plural: 'deployments',
    with: { metadata },
    status: { replicas: 2, readyReplicas: 1, availableReplicas: 1, collisionCount: 2, conditions: conditions('Available') },
  },
  {
    plural: 'statefulsets',
    with: {
      spec: {
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      },
    },
    status: { replicas: 1, readyReplicas: 1, collisionCount: 2 },
  },
  { plural: 'daemonsets', with: {}, status: { currentNumberScheduled: 1, desiredNumberScheduled: 2, collisionCount: 2 } },
  {
    plural: 'jobs',
    with: {},
    status: { active: 1, startTime: '2026-01-01T00:00:00Z', uncountedTerminatedPods: {}, failed: 1 },
  },
  { plural: 'jobs', as: 'indexed', with: { spec: { suspend: true, completionMode: 'Indexed', completions: 3, parallelism: 2 } } },
  {
    plural: 'jobs',
    as: 'complete',
    with: {},
    status: {
      startTime: '2026-01-01T00:00:00Z',
      completionTime: '2026-01-01T00:00:01Z',
      succeeded: 1,
      conditions: conditions('SuccessCriteriaMet', 'Complete'),
    },
  },
  { plural: 'services', with: { metadata, spec: { clusterIP: '10.96.0.78' } } },
  {
    plural: 'services',
    as: 'balanced',
    with: {
      spec: {
        type: 'LoadBalancer',
        clusterIP: '10.96.0.79',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 31001,
        ports: [{ name: 'http', port: 80, nodePort: 31000 }],
      },
    },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
  },
  { plural: 'services', as: 'external', with: { spec: { type: 'ExternalName', externalName: 'example.com', ports: null } } },
  { plural: 'services', as: 'headless', with: { spec: { clusterIP: 'None' } } },
  {
    plural: 'ingresses',
    with: {
      spec: {
        ingressClassName: 'nginx',
        rules: [
          {
            host: 'example.com',
            http: {
              paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }],
            },
          },
        ],
      },
    },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
  },
  { plural: 'serviceaccounts', with: { metadata, secrets: [{ name: 'a' }], imagePullSecrets: [{ name: 'b' }] } },
  { plural: 'storageclasses', with: { parameters: { a: 'b' } } },
  { plural: 'roles', with: { metadata } },
  { plural: 'customresourcedefinitions', with: {}, settles: 'Established' },
]
