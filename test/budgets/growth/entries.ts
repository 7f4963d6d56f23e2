/** Entries of the arrays and maps of every kind, told apart by their index. */
import { openApiSchema, referredSchema } from '../../../openapi/schemas.ts'
import type { ValueType } from '../../../openapi/types.ts'

type Make = (index: number) => unknown

const address = (index: number): string => `10.${20 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`
const time = '2026-01-01T00:00:00Z'
const condition: Make = (i) => ({ type: `C${i}`, status: 'True', reason: 'R', message: 'm', lastTransitionTime: time })
const container: Make = (i) => ({ name: `c${i}`, image: 'a', terminationMessagePolicy: 'File' })
const port: Make = (i) => ({ name: `p${i}`, port: i + 1, protocol: 'TCP' })
const term: Make = (i) => ({ matchExpressions: [{ key: `k${i}`, operator: 'Exists' }] })
const requirement: Make = (i) => ({ key: `k${i}`, operator: 'Exists' })
const webhook: Make = (i) => ({
  name: `w${i}.example.com`,
  clientConfig: { url: 'https://example.com' },
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
})

/** Types whose entries pass validation only with more than their required fields. */
const valid: Record<string, Make> = {
  Container: container,
  EphemeralContainer: container,
  ContainerPort: (i) => ({ name: `p${i}`, containerPort: i + 1 }),
  EnvVar: (i) => ({ name: `E${i}`, value: 'v' }),
  EnvFromSource: (i) => ({ prefix: `E${i}`, configMapRef: { name: `n${i}` } }),
  Volume: (i) => ({ name: `v${i}`, emptyDir: {} }),
  VolumeMount: (i) => ({ name: `v${i}`, mountPath: `/m/${i}` }),
  VolumeDevice: (i) => ({ name: `v${i}`, devicePath: `/d/${i}` }),
  VolumeProjection: (i) => ({ configMap: { name: `n${i}`, items: [{ key: 'k', path: `p${i}` }] } }),
  DownwardAPIVolumeFile: (i) => ({ path: `p${i}`, fieldRef: { fieldPath: 'metadata.name' } }),
  KeyToPath: (i) => ({ key: `k${i}`, path: `p${i}` }),
  HostAlias: (i) => ({ ip: address(i), hostnames: [`h${i}`] }),
  Toleration: (i) => ({ key: `k${i}`, operator: 'Exists' }),
  Taint: (i) => ({ key: `k${i}`, effect: 'NoSchedule' }),
  TopologySpreadConstraint: (i) => ({ maxSkew: 1, topologyKey: `k${i}`, whenUnsatisfiable: 'DoNotSchedule' }),
  PodReadinessGate: (i) => ({ conditionType: `example.com/c${i}` }),
  Sysctl: (i) => ({ name: `net.n${i}`, value: '1' }),
  ServicePort: port,
  EndpointPort: port,
  EndpointSubset: (i) => ({ addresses: [{ ip: address(i) }], ports: [port(i % 60_000)] }),
  EndpointAddress: (i) => ({ ip: address(i) }),
  Endpoint: (i) => ({ addresses: [address(i)] }),
  NodeAddress: (i) => ({ type: 'InternalIP', address: address(i) }),
  ContainerImage: (i) => ({ names: [`i${i}`], sizeBytes: i }),
  OwnerReference: (i) => ({ apiVersion: 'v1', kind: 'Pod', name: `n${i}`, uid: `u${i}` }),
  ManagedFieldsEntry: (i) => ({
    manager: `m${i}`,
    operation: 'Apply',
    apiVersion: 'v1',
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:metadata': { 'f:labels': { [`f:k${i}`]: {} } } },
  }),
  LabelSelectorRequirement: requirement,
  NodeSelectorRequirement: requirement,
  NodeSelectorTerm: term,
  PreferredSchedulingTerm: (i) => ({ weight: 1, preference: term(i) }),
  PodAffinityTerm: (i) => ({ topologyKey: `k${i}`, labelSelector: { matchLabels: { [`k${i}`]: 'v' } } }),
  WeightedPodAffinityTerm: (i) => ({ weight: 1, podAffinityTerm: { topologyKey: `k${i}`, labelSelector: {} } }),
  LabelSelector: (i) => ({ matchLabels: { [`k${i}`]: 'v' } }),
  PolicyRule: (i) => ({ apiGroups: [`g${i}`], resources: [`r${i}`], verbs: ['get'] }),
  Subject: (i) => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: `u${i}` }),
  IngressTLS: (i) => ({ hosts: [`h${i}.example.com`], secretName: `s${i}` }),
  IngressRule: (i) => ({ host: `h${i}.example.com`, http: { paths: [httpPath(0)] } }),
  HTTPIngressPath: (i) => httpPath(i),
  NetworkPolicyPort: (i) => ({ protocol: 'TCP', port: i + 1 }),
  NetworkPolicyPeer: (i) => ({ ipBlock: { cidr: `${address(i)}/32` } }),
  LimitRangeItem: (i) => ({ type: `example.com/t${i}`, max: { cpu: '1' } }),
  MetricSpec: (i) => ({
    type: 'Pods',
    pods: { metric: { name: `m${i}` }, target: { type: 'AverageValue', averageValue: '1' } },
  }),
  HPAScalingPolicy: () => ({ type: 'Pods', value: 1, periodSeconds: 1 }),
  PersistentVolumeClaim: (i) => ({
    metadata: { name: `v${i}` },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }),
  MutatingWebhook: webhook,
  ValidatingWebhook: webhook,
  RuleWithOperations: (i) => ({ operations: ['CREATE'], apiGroups: [`g${i}`], apiVersions: ['v1'], resources: ['r'] }),
  NamedRuleWithOperations: (i) => ({
    operations: ['CREATE'],
    apiGroups: [`g${i}`],
    apiVersions: ['v1'],
    resources: ['r'],
  }),
  MatchCondition: (i) => ({ name: `c${i}`, expression: 'true' }),
  Variable: (i) => ({ name: `v${i}`, expression: '1' }),
  Validation: () => ({ expression: 'true' }),
  AuditAnnotation: (i) => ({ key: `k${i}`, valueExpression: "'v'" }),
  CustomResourceDefinitionVersion: (i) => ({
    name: `v${i + 1}`,
    served: true,
    storage: i === 0,
    schema: { openAPIV3Schema: { type: 'object' } },
  }),
  CustomResourceColumnDefinition: (i) => ({ name: `c${i}`, type: 'string', jsonPath: '.spec' }),
  JSONSchemaProps: () => ({ type: 'string' }),
  ValidationRule: () => ({ rule: 'true' }),
  PodFailurePolicyRule: (i) => ({
    action: 'Count',
    onExitCodes: { containerName: 'a', operator: 'In', values: [i + 1] },
  }),
  ContainerStatus: (i) => ({ name: `c${i}`, image: 'a', imageID: 'a', ready: false, restartCount: 0 }),
  DeviceRequest: (i) => ({ name: `r${i}`, exactly: { deviceClassName: 'a' } }),
  DeviceConstraint: (i) => ({ requests: [`r${i}`], matchAttribute: `example.com/a${i}` }),
  DeviceSelector: () => ({ cel: { expression: 'true' } }),
  Device: (i) => ({ name: `d${i}` }),
  PodIP: (i) => ({ ip: address(i) }),
  HostIP: (i) => ({ ip: address(i) }),
}

function httpPath(index: number): object {
  const backend = { service: { name: `s${index}`, port: { number: 80 } } }
  return { path: `/p${index}`, pathType: 'Prefix', backend }
}

/** One that a real server would take, as far as required fields and the table above lead. */
function validEntry(type: ValueType, index: number): unknown {
  if (type.kind !== 'object') return scalar(type, index)
  const name = type.ref!.split('.').at(-1)!
  const make = valid[name] ?? (name.endsWith('Condition') ? condition : undefined)
  return make ? make(index) : ofSchema(type.ref!, index)
}

interface Schema {
  required?: string[]
  enum?: unknown[]
  type?: string
  format?: string
  items?: object
}

/** Its required fields and the keys of its list. */
function ofSchema(name: string, index: number): unknown {
  const { required = [], properties = {} } = (openApiSchema(name) ?? {}) as Schema & {
    properties?: Record<string, Schema>
  }
  const keys = new Set([...required, ...('name' in properties ? ['name'] : [])])
  return Object.fromEntries([...keys].map((key) => [key, ofProperty(properties[key] ?? {}, index)]))
}

function ofProperty(property: Schema, index: number): unknown {
  const reference = referredSchema(property)
  if (reference) return reference.endsWith('Time') ? time : ofSchema(reference, index)
  if (property.enum) return property.enum[0]
  switch (property.type) {
    case 'integer':
    case 'number':
      return index + 1
    case 'boolean':
      return true
    case 'array':
      return []
    case 'object':
      return {}
    default:
      return property.format === 'date-time' ? time : `n${index}`
  }
}

function scalar(type: ValueType, index: number): unknown {
  switch (type.kind) {
    case 'string':
      return `example.com/n${index}`
    case 'Quantity':
    case 'IntOrString':
      return `${index + 1}`
    case 'list':
      return [`n${index}`]
    case 'map':
      return {}
    case 'bool':
      return true
    case 'bytes':
      return ''
    case 'Time':
    case 'MicroTime':
      return null
    default:
      return index + 1
  }
}

/** What a client might send that takes no care. */
const careless = (type: ValueType, index: number): unknown =>
  type.kind !== 'object'
    ? scalar({ ...type, kind: type.kind === 'string' ? 'raw' : type.kind }, index)
    : index % 2
      ? {}
      : { name: `n${index}` }

/** `valid`: accepted by most fields; `careless`: refused one by one; `equal`: one entry again and again. */
export const shapes = {
  valid: validEntry,
  careless,
  equal: (type: ValueType) => validEntry(type, 0),
} satisfies Record<string, (type: ValueType, index: number) => unknown>
export type Shape = keyof typeof shapes

/** A list or map with so many entries. */
export function collection({ kind, item }: ValueType, size: number, shape: Shape): unknown {
  const entries = Array.from({ length: size }, (_, index) => shapes[shape](item!, index))
  if (kind === 'list') return entries
  if (item!.kind === 'string') entries.fill('v')
  const prefix = item!.kind === 'Quantity' ? 'example.com/k' : 'k'
  return Object.fromEntries(entries.map((value, index) => [`${prefix}${index}`, value]))
}
