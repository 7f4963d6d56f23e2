import type { RecordLine } from '../shared/record/format.ts'

const namespace = 'default'
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

interface Trimmed {
  type?: string
  spec?: { template?: { spec?: unknown } }
  status?: { nodeInfo?: unknown }
}

/**
 * Returns a line of a record without what its pictures do not show. Undefined for what a cluster has from its start,
 * for requests of the recorder, and for events that are no warnings.
 */
export function trimmedRecord(line: RecordLine): RecordLine | undefined {
  if (line.type === 'REQUEST') return line.path.startsWith('/kubestage/') ? undefined : line
  if (!('object' in line)) return line
  const { metadata, ...object } = line.object as typeof line.object & Trimmed
  if (object.kind === 'Event' && object.type === 'Normal') return undefined
  // It says more of the machine than of the cluster.
  if (object.kind === 'Node') delete object.status?.nodeInfo
  if (object.kind === 'Deployment' || object.kind === 'ReplicaSet') delete object.spec?.template?.spec
  const { managedFields: _, annotations = {}, ...kept } = metadata as typeof metadata & { annotations?: object }
  if (kept.namespace !== undefined && kept.namespace !== namespace) return undefined
  if (kept.name === 'kubernetes') return undefined
  const others = Object.entries(annotations).filter(([name]) => name !== lastApplied)
  const all = { ...kept, ...(others.length > 0 && { annotations: Object.fromEntries(others) }) }
  return { ...line, object: { ...object, metadata: all } as typeof line.object }
}
