import { hasEnded } from '../../../shared/api/pods/pod-phase.ts'
import type { Pod } from '../../../shared/api/types.ts'
import type { FeatureGates } from '../../../shared/config/feature-gates.ts'
import { kubernetesVersion } from '../../../shared/config/kubernetes-version.ts'
import type { Family } from '../../../shared/metrics/exposition.ts'
import { gauge } from '../../../shared/metrics/series.ts'
import { buildInfo, featureEnabled, processFamilies } from '../../../shared/metrics/standard-families.ts'
import type { KubeletMetrics } from '../../metrics/kubelet-metrics.ts'
import { allContainers } from '../../pod/container-kinds.ts'
import { PROBE_TYPES, probeOf, titleOf } from '../../pod/probe-types.ts'
import { isMirror, isStatic } from '../../pod/static-pod.ts'
import type { ContainerRuntime } from '../../runtime/container-runtime.ts'

export interface KubeletPageSources {
  metrics: KubeletMetrics
  limits: { families(): Family[] }
  runtime: ContainerRuntime
  pods: readonly Pod[]
  nodeName: string
  featureGates: FeatureGates
  startSeconds: number
}

/** `/metrics`: what was counted, and what is there now. */
export async function kubeletFamilies(sources: KubeletPageSources): Promise<Family[]> {
  const { sandboxes, containers } = await sources.runtime.list()
  const running = new Set(sandboxes.filter(({ state }) => state === 'ready').map(({ podUid }) => podUid))
  return [
    ...sources.metrics.families(),
    ...sources.limits.families(),
    {
      name: 'kubelet_node_name',
      type: 'gauge',
      help: "[ALPHA] The node's name. The count is always 1.",
      samples: [{ labels: { node: sources.nodeName }, value: 1 }],
    },
    gauge('kubelet_running_pods', '[ALPHA] Number of pods that have a running pod sandbox', running.size),
    {
      name: 'kubelet_running_containers',
      type: 'gauge',
      help: '[ALPHA] Number of containers currently running',
      samples: (['running', 'exited'] as const).map((state) => ({
        labels: { container_state: state },
        value: containers.filter((container) => container.state === state).length,
      })),
    },
    ...podFamilies(sources.pods),
    featureEnabled(sources.featureGates),
    buildInfo(kubernetesVersion),
    ...processFamilies(sources.startSeconds),
  ]
}

function podFamilies(pods: readonly Pod[]): Family[] {
  const byKind = (counted: readonly Pod[]) => [
    { labels: { static: '' }, value: counted.filter((pod) => !isStatic(pod)).length },
    { labels: { static: 'true' }, value: counted.filter(isStatic).length },
  ]
  const active = pods.filter((pod) => !hasEnded(pod))
  return [
    {
      name: 'kubelet_desired_pods',
      type: 'gauge',
      help: '[ALPHA] The number of pods the kubelet is being instructed to run. static is true if the pod is not from the apiserver.',
      samples: byKind(pods),
    },
    {
      name: 'kubelet_active_pods',
      type: 'gauge',
      help: '[ALPHA] The number of pods the kubelet considers active and which are being considered when admitting new pods. static is true if the pod is not from the apiserver.',
      samples: byKind(active),
    },
    gauge(
      'kubelet_mirror_pods',
      '[ALPHA] The number of mirror pods the kubelet will try to create (one per admitted static pod)',
      pods.filter((pod) => isMirror(pod) || isStatic(pod)).length,
    ),
    {
      name: 'kubestage_containers_with_probe_grace_period',
      type: 'gauge',
      help: 'Containers of active pods of which a probe sets terminationGracePeriodSeconds.',
      samples: PROBE_TYPES.filter((type) => type !== 'readiness').map((type) => ({
        labels: { probe_type: titleOf(type) },
        value: active
          .flatMap(({ spec }) => allContainers(spec))
          .filter((container) => probeOf(container, type)?.terminationGracePeriodSeconds !== undefined).length,
      })),
    },
  ]
}
