import type { ContainerRecord, Sandbox } from './container-runtime.ts'

/** Holds the runtime's records of one pod, newest first. */
export interface RuntimePod {
  sandboxes: Sandbox[]
  containers: ContainerRecord[]
}

export const emptyRuntimePod: RuntimePod = { sandboxes: [], containers: [] }

/** Returns the records of one container of the pod, newest first: the current instance, then earlier ones. */
export const recordsOf = (runtime: RuntimePod, name: string): ContainerRecord[] =>
  runtime.containers.filter((record) => record.name === name)
export const newestRecord = (runtime: RuntimePod, name: string): ContainerRecord | undefined =>
  runtime.containers.find((record) => record.name === name)
export const isRunning = (record: ContainerRecord | undefined): boolean => record?.state === 'running'
export const runningContainers = (runtime: RuntimePod): ContainerRecord[] =>
  runtime.containers.filter((record) => record.state === 'running')
/** Returns the sandbox in use, if it is ready. */
export const readySandbox = (runtime: RuntimePod): Sandbox | undefined =>
  runtime.sandboxes[0]?.state === 'ready' ? runtime.sandboxes[0] : undefined
/** Returns true if the sandbox in use ever held a container of `names`. */
export const sandboxHolds = (runtime: RuntimePod, names: Set<string>): boolean =>
  runtime.containers.some(({ sandboxId, name }) => sandboxId === runtime.sandboxes[0]?.id && names.has(name))
/** Returns whether something of the pod runs, or could. */
export const isUp = (runtime: RuntimePod | undefined): boolean =>
  runtime !== undefined && (readySandbox(runtime) !== undefined || runningContainers(runtime).length > 0)
