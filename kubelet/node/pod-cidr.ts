import type { PodAddressing } from '../runtime/container-runtime.ts'

/**
 * `auto`: `node` on an API server that is not Kubestage's, since that refuses endpoints with loopback addresses; else
 * `loopback`. `node`: the node's `spec.podCIDR`. The others as in {@link PodAddressing}.
 */
export type PodCidr = 'auto' | 'node' | PodAddressing
