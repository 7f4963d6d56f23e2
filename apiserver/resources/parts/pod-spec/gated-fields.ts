/** Fields behind a feature gate that is off vanish on write, unless the stored object uses them already. */
import type { Container, PodSpec } from '../../../../shared/api/types.ts'
import type { FeatureGateName, FeatureGates } from '../../../../shared/config/feature-gates.ts'
import { allContainers } from './defaults.ts'

interface GatedField {
  /** Names the gate; absent if the field is not supported, as by a real server whose own gate is off. */
  gate?: FeatureGateName
  /** Returns whether a stored object uses it; absent: none does, as no gate turns it on. */
  inUse?(spec: PodSpec): boolean
  drop(spec: PodSpec): void
}

const probes = ({ livenessProbe, readinessProbe, startupProbe }: Container) =>
  [livenessProbe, readinessProbe, startupProbe].filter((probe) => probe !== undefined)

const projections = ({ volumes = [] }: PodSpec) => volumes.flatMap(({ projected }) => projected?.sources ?? [])

const gatedFields: GatedField[] = [
  {
    gate: 'PodTerminationReason',
    inUse: (spec) => allContainers(spec).some(({ lifecycle }) => lifecycle?.preStop?.reasonDelivery !== undefined),
    drop(spec) {
      for (const { lifecycle } of allContainers(spec)) delete lifecycle?.preStop?.reasonDelivery
    },
  },
  {
    gate: 'ProbeTerminationGracePeriod',
    inUse: (spec) =>
      allContainers(spec).some((container) =>
        probes(container).some(({ terminationGracePeriodSeconds }) => terminationGracePeriodSeconds !== undefined),
      ),
    drop(spec) {
      for (const container of allContainers(spec)) {
        for (const probe of probes(container)) delete probe.terminationGracePeriodSeconds
      }
    },
  },
  {
    gate: 'ContainerStopSignals',
    inUse: (spec) => allContainers(spec).some(({ lifecycle }) => lifecycle?.stopSignal !== undefined),
    drop(spec) {
      for (const container of allContainers(spec)) {
        // An empty lifecycle that a client sends stays.
        if (container.lifecycle?.stopSignal === undefined) continue
        delete container.lifecycle.stopSignal
        if (Object.keys(container.lifecycle).length === 0) delete container.lifecycle
      }
    },
  },
  {
    drop(spec) {
      delete (spec as { schedulingGroup?: unknown }).schedulingGroup
      for (const projection of projections(spec)) {
        delete projection.clusterTrustBundle
        delete projection.podCertificate
      }
    },
  },
]

export function dropDisabledFields(spec: PodSpec, old: PodSpec | undefined, featureGates: FeatureGates): void {
  for (const { gate, inUse, drop } of gatedFields) {
    if (gate && featureGates[gate]) continue
    if (old && inUse?.(old)) continue
    drop(spec)
  }
}
