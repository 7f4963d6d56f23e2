/** Holds all objects at one moment, except those that describe the machine. */
export interface Snapshot {
  revision: number
  entries: readonly SnapshotEntry[]
}
export interface SnapshotEntry {
  key: string
  value: string
}

/** Nodes, their leases, where the server is, and the key that servers share. */
const ofMachines = [
  '/registry/kubestage.dev/cluster/',
  '/registry/coordination.k8s.io/leases/kube-system/apiserver-',
  '/registry/core/nodes/',
  '/registry/coordination.k8s.io/leases/kube-node-lease/',
  '/registry/core/services/default/kubernetes',
  '/registry/core/endpoints/default/kubernetes',
  '/registry/discovery.k8s.io/endpointslices/default/kubernetes',
]

/** Returns whether a key belongs to an object that describes the machine: such objects are not part of a snapshot. */
export const isOfMachine = (key: string): boolean => ofMachines.some((prefix) => key.startsWith(prefix))

export function isSnapshot(value: unknown): value is Snapshot {
  const { entries } = (value ?? {}) as Partial<Snapshot>
  const isEntry = ({ key, value }: SnapshotEntry): boolean =>
    typeof key === 'string' && key.startsWith('/registry/') && typeof value === 'string'
  return Array.isArray(entries) && entries.every((entry) => entry && isEntry(entry))
}
