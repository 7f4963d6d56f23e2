/** Every feature gate there is, with its default: all programs accept all of them, as upstream's do. */
export const knownFeatureGates = {
  /** `lifecycle.stopSignal`, and `stopSignal` of container statuses; alpha in Kubernetes 1.36. */
  ContainerStopSignals: false,
  /**
   * EndpointSlices keep pods that are terminating, and say so. Upstream has locked it since 1.26; off is as it was
   * before.
   */
  EndpointSliceTerminatingCondition: true,
  /** The condition `PodReadyToStartContainers`. */
  PodReadyToStartContainersCondition: true,
  PodTerminationReason: true,
  ProbeTerminationGracePeriod: true,
}
export type FeatureGates = Record<keyof typeof knownFeatureGates, boolean>

/** Gives the stage of each feature as upstream's specs name it; empty for GA. */
export const featureStages: Readonly<Record<keyof FeatureGates, 'ALPHA' | 'BETA' | ''>> = {
  ContainerStopSignals: 'ALPHA',
  EndpointSliceTerminatingCondition: '',
  PodReadyToStartContainersCondition: 'BETA',
  PodTerminationReason: 'BETA',
  ProbeTerminationGracePeriod: '',
}
