import { isDeepStrictEqual } from 'node:util'
import { quantityMilliValue } from '../../shared/api/quantities/quantity.ts'
import { matchesLabels, parseLabelSelector } from '../../shared/api/selectors/label-selector.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { ObjectMeta } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { horizontalPodAutoscalers } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { type TellFailure, tellFailures } from '../../shared/concurrency/loop-failures.ts'
import { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import {
  type ApiResource,
  type ApiResources,
  type Controller,
  type ControllerContext,
  type PathClient,
  resourceOfKind,
} from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { ableToScale, type NewCondition, scalingActive, withCondition } from './conditions.ts'
import { desiredReplicas } from './desired-replicas.ts'
import { MetricError, MetricReplicas } from './metric-replicas.ts'
import { MetricsReader } from './metrics-reader.ts'
import type { Tolerances } from './replica-calculator.ts'
import { ScalingHistory } from './scaling-history.ts'
import { type Autoscaler, type AutoscalerSettings, type AutoscalerStatus, defaultAutoscalerSettings } from './types.ts'

/** `autoscaling/v1` Scale. */
interface Scale {
  metadata: ObjectMeta
  spec: { replicas?: number }
  status?: { replicas?: number; selector?: string }
}
interface Found {
  scale: Scale
  path: string
}
interface Selected {
  selector: string
  pods: readonly TrimmedPod[]
}
/** Holds the result of one look at the metrics. */
interface Computed {
  wanted: number
  metric: string
  statuses: AutoscalerStatus['currentMetrics']
}
/** Ends a round, after its condition and event were written; the next one comes as always. */
class RoundError extends Error {}

const component = 'horizontal-pod-autoscaler'
const mostConflicts = 5

/**
 * Scales what autoscalers point to by what their metrics say, every 15 seconds. Upstream:
 * pkg/controller/podautoscaler/horizontal.go.
 */
class AutoscalerController implements Controller {
  readonly #client: Client
  readonly #paths: PathClient
  readonly #resources: ApiResources
  readonly #clock: Clock
  readonly #settings: AutoscalerSettings
  readonly #metrics: MetricReplicas
  readonly #failed: TellFailure<string>
  readonly #recorder: EventRecorder
  readonly #autoscalers: Informer<Autoscaler>
  readonly #pods: Informer<TrimmedPod>
  readonly #queue: WorkQueue<string>
  readonly #histories = new Map<string, ScalingHistory>()
  /** Holds what each autoscaler was last seen to select: no pod may have two. */
  readonly #selectors = new Map<string, string>()

  constructor(
    { client, informers, clock, log }: ControllerContext,
    { resources, paths, settings }: { resources: ApiResources; paths: PathClient; settings: AutoscalerSettings },
  ) {
    this.#client = client
    this.#paths = paths
    this.#resources = resources
    this.#clock = clock
    this.#settings = settings
    this.#metrics = new MetricReplicas(new MetricsReader((path) => paths.get(path)), resources)
    this.#failed = tellFailures({ clock, log, loop: `${component}-controller`, object: 'HorizontalPodAutoscaler' })
    this.#recorder = createEventRecorder({ client, clock, log, component })
    this.#pods = informers.pods()
    this.#autoscalers = informers.whole<Autoscaler>(horizontalPodAutoscalers)
    this.#queue = new WorkQueue<string>({ clock, work: (key) => this.#round(key), onError: this.#failed })
    const consider = ({ metadata }: Autoscaler): void =>
      this.#queue.addAfter(`${metadata.namespace}/${metadata.name}`, settings.syncPeriodMs)
    this.#autoscalers.addHandler({
      onAdd: consider,
      onUpdate: consider,
      onDelete: ({ metadata }) => this.#forget(`${metadata.namespace}/${metadata.name}`),
    })
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await this.#recorder.close()
  }

  #forget(key: string): void {
    this.#histories.delete(key)
    this.#selectors.delete(key)
  }

  /** Looks at an autoscaler, and comes back after the period whatever came of it. */
  async #round(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const autoscaler = this.#autoscalers.get({ namespace, name })
    if (!autoscaler) return this.#forget(key)
    try {
      await this.#sync(autoscaler, key)
    } catch (error) {
      if (!(error instanceof RoundError)) this.#failed(error, key, 1)
    }
    this.#queue.addAfter(key, this.#settings.syncPeriodMs)
  }

  async #sync(autoscaler: Autoscaler, key: string): Promise<void> {
    const round = new Round(autoscaler, this.#clock)
    const found = await this.#findScale(autoscaler).catch(async (error: Error) => {
      const message = `the HPA controller was unable to get the target's current scale: ${error.message}`
      round.set(ableToScale('False', 'FailedGetScale', message))
      await this.#giveUp(round, 'FailedGetScale', error.message)
      throw new RoundError(error.message)
    })
    round.set(ableToScale('True', 'SucceededGetScale', "the HPA controller was able to get the target's current scale"))
    const current = found.scale.spec.replicas ?? 0
    const history = this.#histories.get(key) ?? new ScalingHistory()
    this.#histories.set(key, history)
    history.begin(current, this.#clock.now())
    round.replicas(current, autoscaler.status?.desiredReplicas ?? 0)
    const wish = await this.#wishOf(round, found.scale, { key, history })
    if (wish.replicas !== current) await this.#rescale(round, found, { ...wish, history })
    else round.replicas(current, current)
    await this.#write(round)
  }

  /** The size that the target is to have, and why. */
  async #wishOf(
    round: Round,
    scale: Scale,
    { key, history }: { key: string; history: ScalingHistory },
  ): Promise<{ replicas: number; reason: string }> {
    const { minReplicas = 1, maxReplicas, behavior } = round.spec
    const current = scale.spec.replicas ?? 0
    if (current === 0) {
      const message = 'scaling is disabled since the replica count of the target is zero'
      round.set(scalingActive('False', 'ScalingDisabled', message))
      return { replicas: 0, reason: '' }
    }
    if (current > maxReplicas)
      return { replicas: maxReplicas, reason: 'Current number of replicas above Spec.MaxReplicas' }
    if (current < minReplicas)
      return { replicas: minReplicas, reason: 'Current number of replicas below Spec.MinReplicas' }
    const { wanted, metric, statuses } = await this.#compute(round, scale, key)
    round.metrics(statuses)
    const wish = { currentReplicas: current, wanted, minReplicas, maxReplicas, behavior }
    const { downscaleStabilizationMs } = this.#settings
    const allowed = desiredReplicas(wish, history, { nowMs: this.#clock.now(), downscaleStabilizationMs })
    for (const condition of allowed.conditions) round.set(condition)
    const reason = wanted > current ? `${metric} above target` : wanted < current ? 'All metrics below target' : ''
    return { replicas: allowed.replicas, reason }
  }

  /** Takes the largest proposal. If some metrics fail, the others count, but not to shrink the target. */
  async #compute(round: Round, scale: Scale, key: string): Promise<Computed> {
    const { metrics = [] } = round.spec
    const { selector, pods } = await this.#checkedTarget(round, scale, key)
    const current = scale.spec.replicas ?? 0
    const target = {
      namespace: round.namespace,
      selector,
      pods,
      currentReplicas: current,
      statusReplicas: scale.status?.replicas ?? 0,
      tolerances: this.#tolerancesOf(round.spec),
      settings: this.#settings,
      nowMs: this.#clock.now(),
    }
    const computed: Computed = { wanted: 0, metric: '', statuses: [] }
    const failures: MetricError[] = []
    for (const spec of metrics) {
      try {
        const { replicas, name, status } = await this.#metrics.of(spec, target)
        computed.statuses?.push(status)
        if (computed.wanted === 0 || replicas > computed.wanted)
          Object.assign(computed, { wanted: replicas, metric: name })
      } catch (error) {
        if (!(error instanceof MetricError)) throw error
        failures.push(error)
        this.#event(round, 'Warning', error.reason, error.told)
        // Upstream lists a metric without a value as an empty status.
        computed.statuses?.push({ type: '' } as NonNullable<AutoscalerStatus['currentMetrics']>[number])
      }
    }
    const [first] = failures
    if (first && (failures.length >= metrics.length || computed.wanted < current)) {
      const message = `the HPA was unable to compute the replica count: ${first.told}`
      round.set(scalingActive('False', first.reason, message))
      round.metrics(computed.statuses)
      const count = `${failures.length} invalid out of ${metrics.length}`
      const whole = `invalid metrics (${count}), first error is: ${first.message}`
      await this.#giveUp(round, 'FailedComputeMetricsReplicas', whole)
      throw new RoundError(whole)
    }
    const message = `the HPA was able to successfully calculate a replica count from ${computed.metric}`
    round.set(scalingActive('True', 'ValidMetricFound', message))
    return computed
  }

  /** The target's selector, which must be there, be valid, and select no pod of another autoscaler; and its pods. */
  async #checkedTarget(round: Round, { status }: Scale, key: string): Promise<Selected> {
    const refuse = async (reason: string, message: string, condition = message, conditionReason = reason) => {
      this.#event(round, 'Warning', reason, message)
      round.set(scalingActive('False', conditionReason, condition))
      await this.#giveUp(round, 'FailedComputeMetricsReplicas', message)
      throw new RoundError(message)
    }
    const selector = status?.selector ?? ''
    if (selector === '') {
      const condition = "the HPA target's scale is missing a selector"
      return refuse('SelectorRequired', 'selector is required', condition, 'InvalidSelector')
    }
    try {
      parseLabelSelector(selector)
    } catch (error) {
      const what = "couldn't convert selector into a corresponding internal selector object"
      return refuse('InvalidSelector', `${what}: ${(error as Error).message}`)
    }
    this.#selectors.set(key, selector)
    const pods = this.#selected(round.namespace, selector)
    const names = this.#rivalsOf(round.namespace, pods)
    if (names.length > 1) {
      const all = names.map((name) => `{${name} ${round.namespace}}`).join(' ')
      return refuse('AmbiguousSelector', `pods by selector ${selector} are controlled by multiple HPAs: [${all}]`)
    }
    return { selector, pods }
  }

  /** Names of the autoscalers of a namespace that select one of the pods, this one included. */
  #rivalsOf(namespace: string, pods: readonly TrimmedPod[]): string[] {
    return [...this.#selectors].flatMap(([key, other]) => {
      const [in_, name = ''] = key.split('/')
      if (in_ !== namespace) return []
      const parsed = parseLabelSelector(other)
      return pods.some(({ metadata }) => matchesLabels(parsed, metadata.labels)) ? [name] : []
    })
  }

  #selected(namespace: string, selector: string): TrimmedPod[] {
    const parsed = parseLabelSelector(selector)
    return this.#pods.byIndex('namespace', namespace).filter(({ metadata }) => matchesLabels(parsed, metadata.labels))
  }

  #tolerancesOf({ behavior }: Autoscaler['spec']): Tolerances {
    const of = (quantity: string | undefined): number =>
      quantity === undefined ? this.#settings.tolerance : quantityMilliValue(quantity) / 1_000
    return { scaleUp: of(behavior?.scaleUp?.tolerance), scaleDown: of(behavior?.scaleDown?.tolerance) }
  }

  async #findScale({ metadata, spec }: Autoscaler): Promise<Found> {
    const { apiVersion = 'v1', kind, name } = spec.scaleTargetRef
    const resource = resourceOfKind(this.#resources, { apiVersion, kind })
    const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : ''
    if (!resource) throw new Error(`no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`)
    const path = scalePath(resource, metadata.namespace ?? '', name)
    return { path, scale: (await this.#paths.get(path)) as Scale }
  }

  async #rescale(
    round: Round,
    { scale, path }: Found,
    { replicas, reason, history }: { replicas: number; reason: string; history: ScalingHistory },
  ): Promise<void> {
    const from = scale.spec.replicas ?? 0
    try {
      await this.#setReplicas(path, scale, replicas)
    } catch (error) {
      const { message } = error as Error
      const text = `New size: ${replicas}; reason: ${reason}; error: ${message}`
      round.set(
        ableToScale(
          'False',
          'FailedUpdateScale',
          `the HPA controller was unable to update the target scale: ${message}`,
        ),
      )
      await this.#giveUp(round, 'FailedRescale', text)
      throw new RoundError(message)
    }
    const done = `the HPA controller was able to update the target scale to ${replicas}`
    round.set(ableToScale('True', 'SucceededRescale', done))
    this.#event(round, 'Normal', 'SuccessfulRescale', `New size: ${replicas}; reason: ${reason}`)
    if (round.spec.behavior) history.scaled(from, replicas, round.spec.behavior, this.#clock.now())
    round.rescaled(from, replicas)
  }

  async #setReplicas(path: string, scale: Scale, replicas: number): Promise<void> {
    for (let tries = 1, latest = scale; ; tries++) {
      try {
        await this.#paths.put(path, { ...latest, spec: { ...latest.spec, replicas } })
        return
      } catch (error) {
        if (!isStatus(error, 'Conflict') || tries === mostConflicts) throw error
        latest = (await this.#paths.get(path)) as Scale
      }
    }
  }

  async #giveUp(round: Round, reason: string, message: string): Promise<void> {
    await this.#write(round)
    this.#event(round, 'Warning', reason, message)
  }

  async #write(round: Round): Promise<void> {
    const { status, autoscaler } = round
    if (isDeepStrictEqual(status, autoscaler.status)) return
    await this.#client
      .update(horizontalPodAutoscalers, { ...autoscaler, status }, { subresource: 'status' })
      .catch((error: Error) => {
        this.#event(round, 'Warning', 'FailedUpdateStatus', error.message)
        throw error
      })
  }

  #event({ autoscaler }: Round, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { kind, apiVersion } = { kind: 'HorizontalPodAutoscaler', apiVersion: 'autoscaling/v2' }
    this.#recorder.record({ kind, apiVersion, regarding: autoscaler, type, reason, message })
  }
}

/** Looks at an autoscaler once, and builds its status. */
class Round {
  readonly autoscaler: Autoscaler
  readonly #clock: Clock
  #status: Partial<AutoscalerStatus>

  constructor(autoscaler: Autoscaler, clock: Clock) {
    this.autoscaler = autoscaler
    this.#clock = clock
    const { lastScaleTime, conditions = [] } = autoscaler.status ?? {}
    this.#status = { ...(lastScaleTime && { lastScaleTime }), conditions }
    this.replicas(autoscaler.status?.currentReplicas ?? 0, autoscaler.status?.desiredReplicas ?? 0)
    this.metrics(autoscaler.status?.currentMetrics)
  }

  get spec(): Autoscaler['spec'] {
    return this.autoscaler.spec
  }

  get namespace(): string {
    return this.autoscaler.metadata.namespace ?? ''
  }

  get status(): Partial<AutoscalerStatus> {
    return this.#status
  }

  set(condition: NewCondition): void {
    const conditions = withCondition(this.#status.conditions ?? [], condition, this.#clock.now())
    this.#status = { ...this.#status, conditions }
  }

  replicas(currentReplicas: number, desiredReplicas: number): void {
    this.#status = { ...this.#status, currentReplicas, desiredReplicas }
  }

  metrics(currentMetrics: AutoscalerStatus['currentMetrics']): void {
    this.#status = { ...this.#status, currentMetrics }
  }

  rescaled(from: number, to: number): void {
    this.replicas(from, to)
    this.#status = {
      ...this.#status,
      lastScaleTime: toTime(this.#clock.now()) as unknown as AutoscalerStatus['lastScaleTime'],
    }
  }
}

const scalePath = ({ group, version, plural }: ApiResource, namespace: string, name: string): string =>
  `${group === '' ? `/api/${version}` : `/apis/${group}/${version}`}/namespaces/${namespace}/${plural}/${name}/scale`

export const startHorizontalPodAutoscaler = (
  context: ControllerContext,
  options: { resources: ApiResources; paths: PathClient; settings?: Partial<AutoscalerSettings> },
): Controller =>
  new AutoscalerController(context, {
    ...options,
    settings: withDefaults(options.settings ?? {}),
  })

const withDefaults = (settings: Partial<AutoscalerSettings>): AutoscalerSettings => {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined)
  return { ...defaultAutoscalerSettings, ...Object.fromEntries(given) }
}
