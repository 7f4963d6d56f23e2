import type { Container } from '../../shared/api/types.ts'
import type { ContainerRecord } from './container-runtime.ts'

/** A container's record carries these annotations, so that a kubelet that lost the pod can still end it properly. */
export const ANNOTATIONS = {
  preStop: 'io.kubernetes.container.preStopHandler',
  ports: 'io.kubernetes.container.ports',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  messageFile: 'kubestage.dev/terminationMessageFile',
  stopSignal: 'kubestage.dev/stopSignal',
  grace: 'io.kubernetes.pod.terminationGracePeriod',
} as const

/**
 * Returns the signal that asks a container to end. It was recorded at the container's creation: its own stop signal,
 * else its image's.
 */
export const stopSignalOf = ({ annotations }: ContainerRecord): string =>
  annotations[ANNOTATIONS.stopSignal] ?? 'SIGTERM'

/** The container as far as its record tells, for one whose pod is unknown. */
export const containerFromRecord = ({ name, image, annotations }: ContainerRecord): Container => ({
  name,
  image,
  ...(annotations[ANNOTATIONS.preStop] && {
    lifecycle: { preStop: JSON.parse(annotations[ANNOTATIONS.preStop] ?? '') },
  }),
  ...(annotations[ANNOTATIONS.ports] && { ports: JSON.parse(annotations[ANNOTATIONS.ports] ?? '') }),
})
