import type { KubeObject, Node } from '../../../shared/api/types.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import type { NodeRule } from './node-rule.ts'

const quoted = JSON.stringify

/**
 * A kubelet may update its own Node, but only administrators may change taints, owners and labels that steer pods to
 * the node.
 */
export const node: NodeRule = ({ nodeName, name, operation, object, old }) => {
  const self = `node ${quoted(nodeName)}`
  if (name !== nodeName) return `${self} is not allowed to modify node ${quoted(name)}`
  if (!object) return undefined
  const [after, before] = [object, old] as unknown as [Node, Node | undefined]
  const labels = forbiddenLabels(after.metadata.labels ?? {}, before?.metadata.labels ?? {}).join(', ')
  if (operation === 'CREATE') {
    if (after.spec?.configSource) return `${self} is not allowed to create pods with a non-nil configSource`
    return labels ? `${self} is not allowed to set the following labels: ${labels}` : undefined
  }
  if (after.spec?.configSource && !deepEqual(after.spec.configSource, before?.spec?.configSource))
    return `${self} is not allowed to update configSource to a new non-nil configSource`
  if (!deepEqual(after.spec?.taints ?? [], before?.spec?.taints ?? [])) return `${self} is not allowed to modify taints`
  if (!deepEqual(after.metadata.ownerReferences ?? [], before?.metadata.ownerReferences ?? []))
    return `${self} is not allowed to modify ownerReferences`
  return labels ? `is not allowed to modify labels: ${labels}` : undefined
}

type Labels = Readonly<Record<string, string>>

/** Upstream: k8s.io/kubelet/pkg/apis/well_known_labels.go. */
const kubeletLabels: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
])
const kubeletDomains = ['kubelet.kubernetes.io', 'node.kubernetes.io']
const restricted = 'node-restriction.kubernetes.io'

function forbiddenLabels(after: Labels, before: Labels): string[] {
  const changed = new Set([...Object.keys(after), ...Object.keys(before)].filter((key) => after[key] !== before[key]))
  return [...changed].filter(isForbidden).sort()
}

function isForbidden(label: string): boolean {
  const slash = label.indexOf('/')
  const domain = slash < 0 ? '' : label.slice(0, slash)
  if (isWithin(domain, restricted)) return true
  if (!isWithin(domain, 'kubernetes.io') && !isWithin(domain, 'k8s.io')) return false
  return !kubeletLabels.has(label) && !kubeletDomains.some((allowed) => isWithin(domain, allowed))
}

const isWithin = (domain: string, of: string): boolean => domain === of || domain.endsWith(`.${of}`)

/** Sizes and conditions are the kubelet's to report. */
export const claimStatus: NodeRule = ({ nodeName, object, old }) =>
  deepEqual(withoutReports(object), withoutReports(old))
    ? undefined
    : `node ${quoted(nodeName)} is not allowed to update fields other than status.quantity and status.conditions`

function withoutReports(claim: KubeObject | undefined): unknown {
  const { metadata, status, ...rest } = (claim ?? { metadata: {} }) as KubeObject & { status?: Record<string, unknown> }
  const { resourceVersion: _version, managedFields: _managed, ...kept } = metadata
  const { capacity, conditions, allocatedResources, allocatedResourceStatuses, ...others } = status ?? {}
  return { ...rest, metadata: kept, status: others }
}
