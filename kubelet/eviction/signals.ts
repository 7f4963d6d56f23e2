import type { NodePressure } from '../node/node-status.ts'

/** The kubelet measures these amounts of its machine. Upstream: pkg/kubelet/eviction/api/types.go. */
export type Signal =
  | 'memory.available'
  | 'nodefs.available'
  | 'nodefs.inodesFree'
  | 'imagefs.available'
  | 'imagefs.inodesFree'
  | 'pid.available'
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids'

interface SignalTraits {
  /** The node's condition while there is too little. */
  condition: keyof NodePressure
  /** The resource that the eviction of a pod frees. */
  resource: StarvedResource
}
export const signals: Readonly<Record<Signal, SignalTraits>> = {
  'memory.available': { condition: 'memory', resource: 'memory' },
  'nodefs.available': { condition: 'disk', resource: 'ephemeral-storage' },
  'nodefs.inodesFree': { condition: 'disk', resource: 'inodes' },
  'imagefs.available': { condition: 'disk', resource: 'ephemeral-storage' },
  'imagefs.inodesFree': { condition: 'disk', resource: 'inodes' },
  'pid.available': { condition: 'pid', resource: 'pids' },
}
export const isSignal = (name: string): name is Signal => Object.hasOwn(signals, name)

const shortNames: Record<string, Signal> = {
  memory: 'memory.available',
  disk: 'nodefs.available',
  inodes: 'nodefs.inodesFree',
  pids: 'pid.available',
  pid: 'pid.available',
}
export const signalNamed = (name: string): Signal | undefined =>
  isSignal(name) ? name : Object.hasOwn(shortNames, name) ? shortNames[name] : undefined
export const knownSignals = (): string[] => [...Object.keys(shortNames), ...Object.keys(signals)]

/** Bytes, inodes or processes. */
export interface Observation {
  available: number
  capacity: number
}
export type Observations = Partial<Record<Signal, Observation>>
