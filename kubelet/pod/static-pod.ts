import type { Pod } from '../../shared/api/types.ts'

/** Annotations of the kubelet's own: where a pod comes from, and which manifest its object in the API mirrors. */
export const CONFIG = {
  source: 'kubernetes.io/config.source',
  seen: 'kubernetes.io/config.seen',
  hash: 'kubernetes.io/config.hash',
  mirror: 'kubernetes.io/config.mirror',
} as const

/** A pod that the node itself wants, not the API. */
export const isStatic = ({ metadata }: Pod): boolean => {
  const source = metadata.annotations?.[CONFIG.source]
  return source !== undefined && source !== 'api'
}
/** Returns true for a mirror pod, the API's object of a static pod. */
export const isMirror = ({ metadata }: Pod): boolean => metadata.annotations?.[CONFIG.mirror] !== undefined
