import { isDeepStrictEqual } from 'node:util'
import { type DisruptionBudgetStatus, withSyncFailure } from '../../shared/api/disruption-budget.ts'
import { formatSelectorObject, fromSelectorObject, matchesLabels } from '../../shared/api/label-selector.ts'
import { isStatus } from '../../shared/api/status-error.ts'
import type { PodDisruptionBudget } from '../../shared/api/types.ts'
import { podDisruptionBudgets } from '../../shared/client/resources.ts'
import { createWorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { ApiResources, Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import type { TrimmedPod } from '../trimmed-pod.ts'
import { type BudgetVerdict, budgetStatus, countsOwners } from './budget-status.ts'
import { ownersScale } from './owners-scale.ts'
import { startStaleDisruptions } from './stale-disruptions.ts'

const COMPONENT = 'controllermanager'
const UNMANAGED =
  'to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'

/** Keeps the status of disruption budgets true: how many pods are healthy, and how many of them may be evicted. */
export function startDisruptionController(context: ControllerContext, resources: ApiResources): Controller {
  const { client, informers, clock, log } = context
  const recorder = createEventRecorder({ client, clock, log, component: COMPONENT })
  const pods = informers.pods()
  const budgets = informers.whole<PodDisruptionBudget>(podDisruptionBudgets)
  const stale = startStaleDisruptions(context)

  async function sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const budget = budgets.get({ namespace, name })
    if (!budget) return
    try {
      const { status, overdue, againInMs } = await verdictOn(budget)
      for (const pod of overdue) {
        const message = `Pod was expected by PDB ${namespace}/${name} to be deleted but it wasn't`
        recorder.record({ kind: 'Pod', regarding: pod, type: 'Warning', reason: 'NotDeleted', message })
      }
      await write(budget, status)
      if (againInMs !== undefined) queue.addAfter(key, againInMs + 1)
    } catch (error) {
      if (isStatus(error, 'NotFound')) return
      if (isStatus(error, 'Conflict')) throw error
      log.debug({ err: error, budget: key }, 'a disruption budget allows nothing for now')
      const message = error instanceof Error ? error.message : String(error)
      await write(budget, withSyncFailure(budget.status ?? {}, message, clock.now()))
    }
  }

  async function verdictOn(budget: PodDisruptionBudget): Promise<BudgetVerdict> {
    const covered = [...pods.list()].filter((pod) => covers(budget, pod))
    if (covered.length === 0) record(budget, 'Normal', 'NoPods', 'No matching pods found')
    const nowMs = clock.now()
    if (!countsOwners(budget)) return budgetStatus({ budget, pods: covered, ownersScale: 0, nowMs })
    try {
      const { scale, unmanaged } = await ownersScale(covered, { client, resources })
      if (unmanaged.length > 0) {
        const selector = formatSelectorObject(budget.spec?.selector)
        const message = `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found ${UNMANAGED}`
        record(budget, 'Warning', 'UnmanagedPods', message)
      }
      return budgetStatus({ budget, pods: covered, ownersScale: scale, nowMs })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      const message = `Failed to calculate the number of expected pods: ${why}`
      record(budget, 'Warning', 'CalculateExpectedPodCountFailed', message)
      throw error
    }
  }

  async function write(budget: PodDisruptionBudget, status: DisruptionBudgetStatus): Promise<void> {
    if (isDeepStrictEqual(status, budget.status)) return
    await client.update<PodDisruptionBudget>(podDisruptionBudgets, { ...budget, status }, { subresource: 'status' })
  }

  const record = (regarding: PodDisruptionBudget, type: 'Normal' | 'Warning', reason: string, message: string): void =>
    recorder.record({ kind: 'PodDisruptionBudget', apiVersion: 'policy/v1', regarding, type, reason, message })

  const queue = createWorkQueue<string>({
    clock,
    work: sync,
    onError: (error, budget) => log.debug({ err: error, budget }, 'a disruption budget will be looked at again'),
  })
  const consider = ({ metadata }: PodDisruptionBudget): void => queue.add(`${metadata.namespace}/${metadata.name}`)
  const considerPod = (pod: TrimmedPod, old?: TrimmedPod): void => {
    for (const budget of budgets.list()) if (covers(budget, pod) || (old && covers(budget, old))) consider(budget)
  }
  budgets.addHandler({ onAdd: consider, onUpdate: consider })
  pods.addHandler({ onAdd: (pod) => considerPod(pod), onUpdate: considerPod, onDelete: (pod) => considerPod(pod) })
  return {
    async close() {
      await stale.close()
      await queue.close()
      await recorder.close()
    },
  }
}

function covers({ metadata, spec }: PodDisruptionBudget, pod: TrimmedPod): boolean {
  if (metadata.namespace !== pod.metadata.namespace) return false
  const selector = fromSelectorObject(spec?.selector)
  return selector !== undefined && matchesLabels(selector, pod.metadata.labels)
}
