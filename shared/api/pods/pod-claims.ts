import type { ObjectMeta, PodSpec } from '../types.ts'

type Volume = NonNullable<PodSpec['volumes']>[number]
interface WithVolumes {
  metadata: ObjectMeta
  spec: Pick<PodSpec, 'volumes'>
}

/**
 * The claim that a volume of the pod is, or stands for: an ephemeral one is named after both. Undefined for other
 * volumes.
 */
export const claimNameOf = ({ metadata }: Pick<WithVolumes, 'metadata'>, volume: Volume): string | undefined =>
  volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral && `${metadata.name}-${volume.name}`)

export const claimNames = (pod: WithVolumes): string[] =>
  (pod.spec.volumes ?? []).flatMap((volume) => claimNameOf(pod, volume) ?? [])
