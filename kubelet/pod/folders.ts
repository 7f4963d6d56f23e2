import path from 'node:path'
import type { Pod } from '../../shared/api/types.ts'

/** Below the kubelet's root folder; gone with the pod. */
export const podDir = (rootDir: string, podUid: string): string => path.join(rootDir, 'pods', podUid)
/** The folder of this name in a pod's folder holds the pod's volumes. */
export const VOLUMES = 'volumes'

/** The node's own `/var/log`, laid out as a real kubelet's: log collectors read it through `hostPath` volumes. */
export const nodeLogs = (rootDir: string): string => path.join(rootDir, 'logs')
const PODS = 'pods'
const CONTAINERS = 'containers'
export const nodeLogFolders = (rootDir: string): string[] =>
  [PODS, CONTAINERS].map((name) => path.join(nodeLogs(rootDir), name))
export const podLogDirs = (rootDir: string): string => path.join(nodeLogs(rootDir), PODS)
export const podLogDir = (rootDir: string, { metadata }: Pod): string =>
  path.join(podLogDirs(rootDir), `${metadata.namespace}_${metadata.name}_${metadata.uid}`)

/** A symbolic link, which leads from `path` to `target`. */
export interface Link {
  path: string
  target: string
}
const LONGEST_NAME = 255

/**
 * Returns the link to a container's log in `/var/log/containers`, or undefined for a log outside `/var/log/pods`. It is
 * relative, so that it leads there wherever the two folders are mounted side by side. Upstream: logSymlink in
 * pkg/kubelet/kuberuntime.
 */
export function logLink(logPath: string, containerId: string): Link | undefined {
  const [number = '', container = '', pod = '', folder, ...above] = logPath.split(path.sep).reverse()
  const [namespace, name, uid] = pod.split('_')
  if (folder !== PODS || uid === undefined) return undefined
  const file = `${name}_${namespace}_${container}-${containerId}`.slice(0, LONGEST_NAME - '.log'.length)
  return {
    path: path.join(above.reverse().join(path.sep), CONTAINERS, `${file}.log`),
    target: path.join('..', PODS, pod, container, number),
  }
}
