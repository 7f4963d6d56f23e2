import { BoundedNames } from '../../shared/metrics/bounded-names.ts'
import type { Family } from '../../shared/metrics/exposition.ts'
import { Counters, defaultBuckets, Histograms } from '../../shared/metrics/series.ts'
import { titleOf } from '../pod/probe-types.ts'
import { ProbeMetrics } from './probe-metrics.ts'

/** Says why a pod worker ran: upstream's SyncPodType, or `terminated` for the last step. */
export type WorkerOperation = 'create' | 'update' | 'sync' | 'kill' | 'terminated'

export interface TerminationFacts {
  reason: string
  cause: string
  verdictType: string
  /** Holds the grace period; absent if no container was stopped. */
  graceSeconds?: number
  usedSeconds?: number
}

/** Reasons come from users: this many have a series of their own, cut to a length; the rest is `other`. */
const maxReasons = 50
const maxReasonLength = 64
const ownReasons = ['', 'Update', 'Decommissioned', 'Eviction', 'IntolerableTaint']

const graceBuckets = [0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600]
const ratioBuckets = [0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.25, 1.5]

/** Upstream's list: a reason that it lacks counts as `Other`. */
const admissionReasons = new Set([
  'AppArmor',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'PodOSNotSupported',
  'InvalidNodeInfo',
  'InitContainerRestartPolicyForbidden',
  'SupplementalGroupsPolicyNotSupported',
  'UnexpectedAdmissionError',
  'UnknownReason',
  'UnexpectedPredicateFailureType',
  'OutOfcpu',
  'OutOfmemory',
  'OutOfephemeral-storage',
  'OutOfpods',
  'PodLevelResourcesNotSupported',
  'PodFeatureUnsupported',
  'Evicted',
  'SysctlForbidden',
  'TopologyAffinityError',
  'VolumeAttachmentLimitExceeded',
  'NodeShutdown',
])

/**
 * Counts the kubelet's work. Each count costs one addition, and a page is made only on request.
 * Names, texts and labels of `kubelet_…` are upstream's (pkg/kubelet/metrics); `kubestage_…` are Kubestage's own.
 */
export class KubeletMetrics {
  readonly probes = new ProbeMetrics()
  readonly #reasons = new BoundedNames(maxReasons, ownReasons)
  readonly #evictions = new Counters({
    name: 'kubelet_evictions',
    help: '[ALPHA] Cumulative number of pod evictions by eviction signal',
    labels: ['eviction_signal'],
  })
  readonly #imagesRemoved = new Counters({
    name: 'kubelet_image_garbage_collected_total',
    help: '[ALPHA] Total number of images garbage collected by the kubelet, whether through disk usage or image age.',
    labels: ['reason'],
  })
  readonly #preemptions = new Counters({
    name: 'kubelet_preemptions',
    help: '[ALPHA] Cumulative number of pod preemptions by preemption resource',
    labels: ['preemption_signal'],
  })
  readonly #rejections = new Counters({
    name: 'kubelet_admission_rejections_total',
    help: '[ALPHA] Cumulative number pod admission rejections by the Kubelet.',
    labels: ['reason'],
  })
  readonly #workers = new Histograms({
    name: 'kubelet_pod_worker_duration_seconds',
    help: '[ALPHA] Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
    labels: ['operation_type'],
    buckets: defaultBuckets,
  })
  readonly #containers = new Counters({
    name: 'kubelet_started_containers_total',
    help: '[ALPHA] Cumulative number of containers started',
    labels: ['container_type'],
  })
  readonly #sandboxes = new Counters({
    name: 'kubelet_started_pods_total',
    help: '[ALPHA] Cumulative number of pods started',
    labels: [],
  })
  readonly #terminations = new Counters({
    name: 'kubestage_terminations_total',
    help: 'Terminations by reason, cause and type of verdict, as their records have them.',
    labels: ['reason', 'cause', 'verdict'],
  })
  readonly #given = new Histograms({
    name: 'kubestage_termination_grace_period_seconds',
    help: 'Grace periods that terminated containers were given.',
    labels: ['cause'],
    buckets: graceBuckets,
  })
  readonly #used = new Histograms({
    name: 'kubestage_termination_duration_seconds',
    help: 'Time from the first step of a termination until its containers were gone.',
    labels: ['cause'],
    buckets: graceBuckets,
  })
  readonly #ratio = new Histograms({
    name: 'kubestage_termination_grace_used_ratio',
    help: 'Part of the grace period that a termination used; above 1 it ran over.',
    labels: ['cause'],
    buckets: ratioBuckets,
  })
  readonly #probeKills = new Counters({
    name: 'kubestage_probe_kills_total',
    help: "Containers killed by a failed probe, by whether the probe's own grace period applied.",
    labels: ['probe_type', 'own_grace'],
  })

  imageRemoved(reason: 'space' | 'age'): void {
    this.#imagesRemoved.add({ reason })
  }

  evicted(signal: string): void {
    this.#evictions.add({ eviction_signal: signal })
  }

  preempted(resource: string): void {
    this.#preemptions.add({ preemption_signal: resource })
  }

  rejected(reason: string): void {
    const known = admissionReasons.has(reason)
    this.#rejections.add({
      reason: known ? reason : reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other',
    })
  }

  worked(operation: WorkerOperation, seconds: number): void {
    this.#workers.observe({ operation_type: operation }, seconds)
  }

  sandboxStarted(): void {
    this.#sandboxes.add({})
  }

  containerStarted(type: 'init_container' | 'container' | 'ephemeral_container'): void {
    this.#containers.add({ container_type: type })
  }

  probeKilled(type: 'liveness' | 'startup', ownGrace: boolean): void {
    this.#probeKills.add({ probe_type: titleOf(type), own_grace: String(ownGrace) })
  }

  terminated({ reason, cause, verdictType, graceSeconds, usedSeconds }: TerminationFacts): void {
    const shown = this.#reasons.of(reason.slice(0, maxReasonLength).toWellFormed())
    this.#terminations.add({ reason: shown, cause, verdict: verdictType })
    if (graceSeconds === undefined || usedSeconds === undefined) return
    this.#given.observe({ cause }, graceSeconds)
    this.#used.observe({ cause }, usedSeconds)
    if (graceSeconds > 0) this.#ratio.observe({ cause }, usedSeconds / graceSeconds)
  }

  families(): Family[] {
    return [
      this.#evictions,
      this.#imagesRemoved,
      this.#preemptions,
      this.#rejections,
      this.#workers,
      this.#containers,
      this.#sandboxes,
      this.#terminations,
      this.#given,
      this.#used,
      this.#ratio,
      this.#probeKills,
    ].map((family) => family.family())
  }
}
