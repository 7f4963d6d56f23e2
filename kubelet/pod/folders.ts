import path from 'node:path'
import type { Pod } from '../../shared/api/types.ts'

/** Below the kubelet's root folder; gone with the pod. */
export const podDir = (rootDir: string, podUid: string): string => path.join(rootDir, 'pods', podUid)
/** The folder of this name in a pod's folder holds the pod's volumes. */
export const VOLUMES = 'volumes'
export const podLogDir = (rootDir: string, { metadata }: Pod): string =>
  path.join(rootDir, 'logs', `${metadata.namespace}_${metadata.name}_${metadata.uid}`)
