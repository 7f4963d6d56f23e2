/**
 * Structs as upstream prints them inside messages: JSON of its Go types, with Go's field names and every field present.
 * A field that upstream's type lacks is present only where it is set.
 * Upstream dumps its internal types, which mostly have the fields of v1; where they do not, `layouts` says how.
 */
import { type Field, structType, type ValueType, zeroValue } from '../../openapi/types.ts'

/**
 * Go field name → where the value is found in the v1 object, and of which type it is; given for types whose layout
 * differs.
 */
interface LayoutField {
  go: string
  read(source: Record<string, unknown>): unknown
  type: ValueType
  /** Upstream's type lacks the field. */
  added?: boolean
}
const layouts = new Map<string, LayoutField[]>()

export function dump(schema: string, value: unknown): unknown {
  return dumpStruct(schema, (value ?? {}) as Record<string, unknown>)
}

function dumpStruct(schema: string, source: Record<string, unknown>): Record<string, unknown> {
  if (schema.startsWith(META)) return asJson(schema, source)
  const result: Record<string, unknown> = {}
  for (const { go, read, type, added } of layoutOf(schema)) {
    const value = read(source)
    if (added && value === undefined) continue
    if (go === 'ObjectMeta') Object.assign(result, asJson(type.ref ?? '', (value ?? {}) as Record<string, unknown>))
    else result[go] = dumpValue(type, value)
  }
  return result
}

/** Types of `metav1` have no internal form: Go prints them as JSON, in the order of their fields. */
function asJson(schema: string, source: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const { name, type, omitEmpty } of structType(schema).fields) {
    const value = source[name]
    if (omitEmpty && isEmpty(type, value)) continue
    result[name] = dumpValue(type, value)
  }
  return result
}
/** Go leaves out an empty list or map; a struct behind a pointer is none of these. */
const isEmpty = ({ kind }: ValueType, value: unknown): boolean =>
  value === undefined || value === null || ((kind === 'list' || kind === 'map') && Object.keys(value).length === 0)
const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.'

function dumpValue(type: ValueType, value: unknown): unknown {
  if (value === undefined || value === null) {
    if (type.pointer || type.kind === 'list' || type.kind === 'map') return null
    return type.kind === 'object' ? dumpStruct(type.ref ?? '', {}) : zeroValue(type)
  }
  if (type.kind === 'object') return dumpStruct(type.ref ?? '', value as Record<string, unknown>)
  if (type.kind === 'list') return (value as unknown[]).map((item) => dumpValue(type.item as ValueType, item))
  if (type.kind === 'map') {
    const entries = Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(entries.map(([key, item]) => [key, dumpValue(type.item as ValueType, item)]))
  }
  return value
}

function layoutOf(schema: string): LayoutField[] {
  let layout = layouts.get(schema)
  if (!layout) {
    layout = structType(schema).fields.map(plain)
    const change = changes[schema]
    if (change) layout = change(layout)
    layouts.set(schema, layout)
  }
  return layout
}

const plain = (field: Field): LayoutField => ({
  go: field.goName,
  read: (source) => source[field.name],
  type: field.type,
  added: field.added,
})

const core = 'io.k8s.api.core.v1'
const scalar = (kind: 'bool', pointer: boolean): ValueType => ({ kind, pointer, goType: kind })
const hostField = (go: string, name: string, pointer = false): LayoutField => ({
  go,
  read: (source) => (source.spec as Record<string, unknown> | undefined)?.[name],
  type: scalar('bool', pointer),
})

const changes: Record<string, (layout: LayoutField[]) => LayoutField[]> = {
  /** Internally the host namespaces are part of the security context. */
  [`${core}.PodSpec`]: (layout) =>
    layout
      .filter(({ go }) => !movedToSecurityContext.has(go) && go !== 'DeprecatedServiceAccount')
      .map((field) =>
        field.go === 'SecurityContext'
          ? {
              ...field,
              read: (source: Record<string, unknown>) => ({
                ...(source.securityContext as object | undefined),
                spec: source,
              }),
            }
          : field,
      )
      .sort(byInternalOrder),
  [`${core}.Volume`]: (layout) => {
    const quobyte = layout.find(({ go }) => go === 'Quobyte')
    return layout.flatMap((field) => {
      if (field.go === 'Quobyte') return []
      return field.go === 'RBD' && quobyte ? [field, quobyte] : [field]
    })
  },
  [`${core}.PersistentVolumeSpec`]: (layout) => {
    const place = ({ go }: LayoutField): number => volumeOrder.indexOf(go)
    const isSource = (field: LayoutField): boolean => place(field) >= 0
    const sources = layout.filter(isSource).sort((a, b) => place(a) - place(b))
    const [capacity, ...others] = layout.filter((field) => !isSource(field))
    return [...(capacity ? [capacity] : []), ...sources, ...others]
  },
  // Internally its partition is no pointer.
  'io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy': (layout) =>
    layout.map((field) => (field.go === 'Partition' ? { ...field, type: { ...field.type, pointer: false } } : field)),
  [`${core}.PodSecurityContext`]: (layout) => [
    hostField('HostNetwork', 'hostNetwork'),
    hostField('HostPID', 'hostPID'),
    hostField('HostIPC', 'hostIPC'),
    hostField('ShareProcessNamespace', 'shareProcessNamespace', true),
    hostField('HostUsers', 'hostUsers', true),
    ...layout.flatMap((field) => {
      // There it stands behind the policy, not before.
      if (field.go === 'Sysctls') return []
      const sysctls = layout.find(({ go }) => go === 'Sysctls')
      return field.go === 'FSGroupChangePolicy' && sysctls ? [field, sysctls] : [field]
    }),
  ],
}
const volumeOrder =
  'GCEPersistentDisk AWSElasticBlockStore HostPath Glusterfs NFS RBD Quobyte ISCSI FlexVolume Cinder CephFS FC Flocker AzureFile VsphereVolume AzureDisk PhotonPersistentDisk PortworxVolume ScaleIO Local StorageOS CSI'.split(
    ' ',
  )
/** Upstream's internal PodSpec has the fields after these in another order than v1. */
const internalOrder = [
  'Subdomain',
  'SetHostnameAsFQDN',
  'Affinity',
  'SchedulerName',
  'Tolerations',
  'HostAliases',
  'PriorityClassName',
  'Priority',
  'PreemptionPolicy',
  'DNSConfig',
  'ReadinessGates',
  'RuntimeClassName',
  'Overhead',
  'EnableServiceLinks',
  'TopologySpreadConstraints',
]
const byInternalOrder = (a: LayoutField, b: LayoutField): number => rank(a) - rank(b)
const rank = ({ go }: LayoutField): number => {
  const known = internalOrder.indexOf(go)
  return known >= 0 ? known : lastFields.has(go) ? internalOrder.length : -1
}
const lastFields = new Set([
  'OS',
  'SchedulingGates',
  'ResourceClaims',
  'Resources',
  'HostnameOverride',
  'SchedulingGroup',
])
const movedToSecurityContext = new Set(['HostNetwork', 'HostPID', 'HostIPC', 'ShareProcessNamespace', 'HostUsers'])
