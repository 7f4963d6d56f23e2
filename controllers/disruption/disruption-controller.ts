import { isDeepStrictEqual } from 'node:util'
import { formatSelectorObject, selectsLabels } from '../../shared/api/selectors/label-selector.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { PodDisruptionBudget } from '../../shared/api/types.ts'
import { type DisruptionBudgetStatus, withSyncFailure } from '../../shared/api/workloads/disruption-budget.ts'
import type { Client } from '../../shared/client/client.ts'
import { everyState, type Informer } from '../../shared/client/informer.ts'
import { podDisruptionBudgets } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { type TellFailure, tellFailures } from '../../shared/concurrency/loop-failures.ts'
import { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { ApiResources, Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { type BudgetVerdict, budgetStatus, countsOwners } from './budget-status.ts'
import { ownersScale } from './owners-scale.ts'
import { startStaleDisruptions } from './stale-disruptions.ts'

const COMPONENT = 'controllermanager'
const UNMANAGED =
  'to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'

/** Keeps the status of disruption budgets true: how many pods are healthy, and how many of them may be evicted. */
class DisruptionController implements Controller {
  readonly #resources: ApiResources
  readonly #client: Client
  readonly #clock: Clock
  readonly #failed: TellFailure<string>
  readonly #recorder: EventRecorder
  readonly #pods: Informer<TrimmedPod>
  readonly #budgets: Informer<PodDisruptionBudget>
  readonly #stale: Controller
  readonly #queue: WorkQueue<string>

  constructor(context: ControllerContext, resources: ApiResources) {
    this.#resources = resources
    const { client, informers, clock, log } = context
    this.#client = client
    this.#clock = clock
    this.#failed = tellFailures({ clock, log, loop: 'disruption-controller', object: 'PodDisruptionBudget' })
    this.#recorder = createEventRecorder({ client, clock, log, component: COMPONENT })
    this.#pods = informers.pods()
    this.#budgets = informers.whole<PodDisruptionBudget>(podDisruptionBudgets)
    this.#stale = startStaleDisruptions(context)
    this.#queue = new WorkQueue<string>({
      clock,
      work: (key) => this.#sync(key),
      onError: this.#failed,
    })
    this.#budgets.addHandler(everyState((budget) => this.#consider(budget)))
    this.#pods.addHandler({
      onAdd: (pod) => this.#considerPod(pod),
      onUpdate: (pod, old) => this.#considerPod(pod, old),
      onDelete: (pod) => this.#considerPod(pod),
    })
  }

  async close(): Promise<void> {
    await this.#stale.close()
    await this.#queue.close()
    await this.#recorder.close()
  }

  async #sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const budget = this.#budgets.get({ namespace, name })
    if (!budget) return
    try {
      const { status, overdue, againInMs } = await this.#verdictOn(budget)
      for (const pod of overdue) {
        const message = `Pod was expected by PDB ${namespace}/${name} to be deleted but it wasn't`
        this.#recorder.record({ kind: 'Pod', regarding: pod, type: 'Warning', reason: 'NotDeleted', message })
      }
      await this.#write(budget, status)
      if (againInMs !== undefined) this.#queue.addAfter(key, againInMs + 1)
    } catch (error) {
      if (isStatus(error, 'NotFound')) return
      if (isStatus(error, 'Conflict')) throw error
      this.#failed(error, key)
      const message = error instanceof Error ? error.message : String(error)
      await this.#write(budget, withSyncFailure(budget.status ?? {}, message, this.#clock.now()))
    }
  }

  async #verdictOn(budget: PodDisruptionBudget): Promise<BudgetVerdict> {
    const covered = [...this.#pods.list()].filter((pod) => covers(budget, pod))
    if (covered.length === 0) this.#record(budget, 'Normal', 'NoPods', 'No matching pods found')
    const nowMs = this.#clock.now()
    if (!countsOwners(budget)) return budgetStatus({ budget, pods: covered, ownersScale: 0, nowMs })
    try {
      const { scale, unmanaged } = await ownersScale(covered, { client: this.#client, resources: this.#resources })
      if (unmanaged.length > 0) {
        const selector = formatSelectorObject(budget.spec?.selector)
        const message = `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found ${UNMANAGED}`
        this.#record(budget, 'Warning', 'UnmanagedPods', message)
      }
      return budgetStatus({ budget, pods: covered, ownersScale: scale, nowMs })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      const message = `Failed to calculate the number of expected pods: ${why}`
      this.#record(budget, 'Warning', 'CalculateExpectedPodCountFailed', message)
      throw error
    }
  }

  async #write(budget: PodDisruptionBudget, status: DisruptionBudgetStatus): Promise<void> {
    if (isDeepStrictEqual(status, budget.status)) return
    await this.#client.update<PodDisruptionBudget>(
      podDisruptionBudgets,
      { ...budget, status },
      { subresource: 'status' },
    )
  }

  #record(regarding: PodDisruptionBudget, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#recorder.record({ kind: 'PodDisruptionBudget', apiVersion: 'policy/v1', regarding, type, reason, message })
  }

  #consider({ metadata }: PodDisruptionBudget): void {
    this.#queue.add(`${metadata.namespace}/${metadata.name}`)
  }

  #considerPod(pod: TrimmedPod, old?: TrimmedPod): void {
    for (const budget of this.#budgets.list())
      if (covers(budget, pod) || (old && covers(budget, old))) this.#consider(budget)
  }
}

export const startDisruptionController = (context: ControllerContext, resources: ApiResources): Controller =>
  new DisruptionController(context, resources)

const covers = ({ metadata, spec }: PodDisruptionBudget, pod: TrimmedPod): boolean =>
  metadata.namespace === pod.metadata.namespace && selectsLabels(spec?.selector, pod.metadata.labels)
