import type { Pod } from './types.ts'

type Volume = NonNullable<Pod['spec']['volumes']>[number]

/** The claim that a volume of the pod is, or stands for: an ephemeral one is named after both. Undefined for other volumes. */
export const claimNameOf = ({ metadata }: Pod, volume: Volume): string | undefined =>
  volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral && `${metadata.name}-${volume.name}`)

/** Names of all of them. */
export const claimNames = (pod: Pod): string[] =>
  (pod.spec.volumes ?? []).flatMap((volume) => claimNameOf(pod, volume) ?? [])
