import { option } from './option.ts'
import { featureGates } from './option-types.ts'

interface FeatureGate {
  /** Says what the feature does, as one line of the documentation. */
  help: string
  default: boolean
  /** The feature's stage as upstream's specs and metrics name it; empty for GA. */
  stage: 'ALPHA' | 'BETA' | ''
}

/**
 * Defines every feature gate: all programs accept all of them, as upstream's do. A new gate is a row here, and a
 * question (`featureGates.NAME`) where the feature matters.
 */
export const featureGateTable = {
  ContainerStopSignals: {
    help: '`lifecycle.stopSignal` of containers, and `stopSignal` in their status',
    default: false,
    stage: 'ALPHA',
  },
  EndpointSliceTerminatingCondition: {
    help: 'EndpointSlices keep pods that are terminating, with the conditions `serving` and `terminating`; upstream has locked it',
    default: true,
    stage: '',
  },
  MaxUnavailableStatefulSet: {
    help: '`maxUnavailable` in the rolling update of a StatefulSet',
    default: false,
    stage: 'BETA',
  },
  PodReadyToStartContainersCondition: {
    help: 'The condition `PodReadyToStartContainers` of pods',
    default: true,
    stage: 'BETA',
  },
  PodTerminationReason: {
    help: 'The `reason` of a DELETE, `metadata.reason`, and its delivery to preStop hooks',
    default: true,
    stage: 'BETA',
  },
  ProbeTerminationGracePeriod: {
    help: '`terminationGracePeriodSeconds` of liveness and startup probes',
    default: true,
    stage: '',
  },
} as const satisfies Record<string, FeatureGate>

export type FeatureGateName = keyof typeof featureGateTable
export type FeatureGates = Readonly<Record<FeatureGateName, boolean>>

export const featureGateNames = Object.keys(featureGateTable) as FeatureGateName[]
export const defaultFeatureGates = Object.fromEntries(
  featureGateNames.map((name) => [name, featureGateTable[name].default]),
) as FeatureGates

export const featureGatesOption = option(featureGates(defaultFeatureGates), {
  default: defaultFeatureGates,
  help: 'Features on or off',
})
