import { claimNames } from '../../shared/api/pod-claims.ts'
import type { Container, Pod } from '../../shared/api/types.ts'

/** Names of the objects of one resource, in the pod's own namespace, that the pod needs from the API to run. */
export function namesInPod(pod: Pod, resource: string): string[] {
  return (references[resource]?.(pod) ?? []).filter((name) => name !== undefined)
}

type Names = (string | undefined)[]

const references: Record<string, (pod: Pod) => Names> = {
  configmaps: (pod) => [
    ...volumes(pod).flatMap(({ configMap, projected }) => [
      configMap?.name,
      ...(projected?.sources ?? []).map((source) => source.configMap?.name),
    ]),
    ...containers(pod).flatMap(({ env, envFrom }) => [
      ...(env ?? []).map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
      ...(envFrom ?? []).map(({ configMapRef }) => configMapRef?.name),
    ]),
  ],
  secrets: (pod) => [
    ...(pod.spec.imagePullSecrets ?? []).map(({ name }) => name),
    ...volumes(pod).flatMap(({ secret, projected }) => [
      secret?.secretName,
      ...(projected?.sources ?? []).map((source) => source.secret?.name),
    ]),
    ...containers(pod).flatMap(({ env, envFrom }) => [
      ...(env ?? []).map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
      ...(envFrom ?? []).map(({ secretRef }) => secretRef?.name),
    ]),
  ],
  persistentvolumeclaims: claimNames,
  serviceaccounts: (pod) => [pod.spec.serviceAccountName],
}

function containers({ spec }: Pod): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers]
}

function volumes({ spec }: Pod): NonNullable<Pod['spec']['volumes']> {
  return spec.volumes ?? []
}
