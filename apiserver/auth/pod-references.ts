import { claimNames } from '../../shared/api/pods/pod-claims.ts'
import type { Container, Pod } from '../../shared/api/types.ts'

/**
 * Names of the objects of one resource, in the pod's own namespace, that the pod needs from the API to run. Upstream:
 * pkg/api/v1/pod/util.go.
 */
export function namesInPod(pod: Pod, resource: string): string[] {
  return (references[resource]?.(pod) ?? []).filter((name) => name !== undefined && name !== '') as string[]
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
    ...volumes(pod).flatMap(({ secret, projected, ...drivers }) => [
      secret?.secretName,
      ...(projected?.sources ?? []).map((source) => source.secret?.name),
      ...driverSecrets(drivers),
    ]),
    ...containers(pod).flatMap(({ env, envFrom }) => [
      ...(env ?? []).map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
      ...(envFrom ?? []).map(({ secretRef }) => secretRef?.name),
    ]),
  ],
  persistentvolumeclaims: claimNames,
  serviceaccounts: (pod) => [pod.spec.serviceAccountName],
  resourceclaims: ({ spec, status }) => [
    ...(spec.resourceClaims ?? []).map(
      ({ name, resourceClaimName }) =>
        resourceClaimName ?? status?.resourceClaimStatuses?.find((made) => made.name === name)?.resourceClaimName,
    ),
    status?.extendedResourceClaimStatus?.resourceClaimName,
  ],
}

function driverSecrets(volume: Volume): Names {
  const { azureFile, cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos, csi } = volume
  return [
    azureFile?.secretName,
    ...[cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos].map((source) => source?.secretRef?.name),
    csi?.nodePublishSecretRef?.name,
  ]
}

type Volume = Omit<NonNullable<Pod['spec']['volumes']>[number], 'secret' | 'projected'>

function containers({ spec }: Pod): Container[] {
  const { initContainers = [], ephemeralContainers = [] } = spec
  return [...initContainers, ...(spec.containers ?? []), ...(ephemeralContainers as Container[])]
}

function volumes({ spec }: Pod): NonNullable<Pod['spec']['volumes']> {
  return spec.volumes ?? []
}
