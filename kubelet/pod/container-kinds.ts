import type { Container, Pod, PodSpec } from '../../shared/api/types.ts'

/** An init container that runs beside the app containers. */
export const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always'
export const sidecars = (spec: PodSpec): Container[] => (spec.initContainers ?? []).filter(isSidecar)
/** Added to a running pod, to look into it: started once, and never again. */
export const ephemeralContainers = (spec: PodSpec): Container[] => (spec.ephemeralContainers ?? []) as Container[]
/** Returns the containers in spec order, init containers first. */
export const allContainers = (spec: PodSpec): Container[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
  ...ephemeralContainers(spec),
]
export const findContainer = (spec: PodSpec, name: string): Container | undefined =>
  allContainers(spec).find((container) => container.name === name)
/** Where a container stands in its pod, as events and messages name it. */
export function fieldPathOf(spec: PodSpec, name: string): string {
  const lists = ['initContainers', 'ephemeralContainers'] as const
  const list = lists.find((list) => spec[list]?.some((container) => container.name === name)) ?? 'containers'
  return `spec.${list}{${name}}`
}
/** `p_ns(uid)`, how messages name a pod. */
export const fullName = ({ metadata }: Pod): string => `${metadata.name}_${metadata.namespace}(${metadata.uid})`
