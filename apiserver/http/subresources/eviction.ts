import { badRequest, plainError } from '../../../shared/api/status/status-errors.ts'
import type { DeleteOptions, KubeObject, Pod, PodCondition, PodDisruptionBudget } from '../../../shared/api/types.ts'
import { podDisruptionBudgets } from '../../../shared/client/resources.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { reasonFor } from '../../../shared/reasons/reason-table.ts'
import { decodeStored } from '../../registry/stored-object.ts'
import type { ObjectScope, WriteOptions } from '../../registry/write-context.ts'
import { otherNamespace } from '../../registry/writes/before-create.ts'
import { terminationReason } from '../../registry/writes/termination-reason.ts'
import { invalid, invalidObject } from '../../validation/field-error.ts'
import { decodeBody } from '../../validation/request-body.ts'
import { warnOf } from '../../validation/strict-errors.ts'
import type { ApiContext } from '../api-context.ts'
import { readBodyAs } from '../body/request-object.ts'
import { negotiateWithoutTable } from '../encode/negotiation.ts'
import type { ResourceExchange } from '../exchange.ts'
import type { WriteAnswer } from '../handler.ts'
import { parseDeleteOptions } from '../options/delete-options.ts'
import { parseWriteOptions } from '../options/write-options.ts'
import { admitUnstored } from './admit.ts'
import { budgetOf, mayGoUnready, needsNoBudget, spend } from './disruption-budget.ts'

const eviction = { group: 'policy', version: 'v1', kind: 'Eviction', schema: 'io.k8s.api.policy.v1.Eviction' }
/** The reason of an eviction that gives none. */
const defaultReason = reasonFor('Pod', 'evicted')
const unsafe = 'ignoreStoreReadErrorWithClusterBreakingPotential'

interface Eviction extends KubeObject {
  deleteOptions?: DeleteOptions & { [unsafe]?: boolean }
}

/** A polite delete: the pod is marked as disrupted first, and told that it is evicted. */
export async function evictPod(
  api: ApiContext,
  { exchange, definition, target }: ResourceExchange,
): Promise<WriteAnswer> {
  const { request, info, user } = exchange
  const { encoding } = negotiateWithoutTable(request.headers.accept)
  const requested = parseWriteOptions(exchange, 'CreateOptions')
  const body = await readEviction(exchange, requested)
  const { namespace, name = '' } = target
  if (body.metadata.namespace && body.metadata.namespace !== namespace) throw otherNamespace()
  const scope = { definition, namespace, name, user }
  const context = { featureGates: api.registry.featureGates, warn: requested.warn }
  const check = (): void => {
    checkEviction(body, name)
    // The only mistake in the options that upstream reports before it validates.
    parseDeleteOptions({ reason: body.deleteOptions?.reason }, info.query, context)
    const [inQuery, inBody] = [info.query.getAll('dryRun'), body.deleteOptions?.dryRun ?? []]
    if (inQuery.length > 0 && inBody.length > 0 && inQuery.join(' ') !== inBody.join(' ')) {
      const both = `[${inQuery.join(' ')}] and [${inBody.join(' ')}]`
      throw plainError(`Non-matching dry-run options in request and content: ${both}`)
    }
  }
  const admission = { kind: eviction, body, options: requested, check }
  await admitUnstored(api.registry, { ...scope, subresource: 'eviction' }, admission)
  const pod = decodeStored(api.registry.get(scope))
  const options = { ...requested, isAdmitted: true }
  const asked = body.deleteOptions ?? {}
  const dryRun = options.dryRun || (asked.dryRun ?? []).length > 0
  await spendBudget(api, pod as unknown as Pod, scope, { ...options, dryRun })
  const marked = !dryRun && holds(asked, pod) ? await markDisrupted(api, scope, options) : pod.metadata.resourceVersion
  const deleteOptions = parseDeleteOptions({ ...asked }, info.query, context)
  if (holds(asked, pod) && deleteOptions.preconditions?.resourceVersion) {
    deleteOptions.preconditions = { ...deleteOptions.preconditions, resourceVersion: marked }
  }
  if (pod.metadata.reason === undefined) {
    const said = terminationReason(context, deleteOptions, body) ?? terminationReason(context, {}, pod)
    deleteOptions.reason ??= said ?? defaultReason
  }
  await api.registry.delete(scope, deleteOptions, { ...options, dryRun })
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
  return { status: 201, json: JSON.stringify(status), negotiated: { encoding } }
}

function checkEviction({ metadata, deleteOptions }: Eviction, name: string): void {
  if (metadata.name !== name) throw badRequest('name in URL does not match name in Eviction object')
  if (!deleteOptions?.[unsafe]) return
  const detail = 'can not be set for pod eviction, try after removing the option'
  throw invalidObject(eviction, name, [invalid(`deleteOptions.${unsafe}`, true, detail)])
}

async function readEviction(
  exchange: ResourceExchange['exchange'],
  { fieldValidation, limits, warn }: ReturnType<typeof parseWriteOptions>,
): Promise<Eviction> {
  const raw = { bytes: await exchange.smallBody(), contentType: exchange.request.headers['content-type'] }
  const reading = { kind: eviction.kind, fieldValidation, maxValues: limits.bodyValues }
  const { body, ...parsed } = await readBodyAs(raw, reading)
  // The older version is the same object.
  if (body.apiVersion === 'policy/v1beta1') body.apiVersion = 'policy/v1'
  const { object, strictErrors } = decodeBody(eviction, body, { ...reading, ...parsed })
  warnOf(strictErrors, warn)
  exchange.audit?.requested({ kind: eviction.kind, apiVersion: 'policy/v1' }, object)
  return object as Eviction
}

/** Takes the eviction from the budget that covers the pod; throws when it has none left. */
async function spendBudget(api: ApiContext, pod: Pod, scope: ObjectScope, options: WriteOptions): Promise<void> {
  if (needsNoBudget(pod)) return
  const budgets = api.registry.lookupAll(podDisruptionBudgets) as Iterable<unknown> as Iterable<PodDisruptionBudget>
  const budget = budgetOf(pod, budgets)
  if (!budget || mayGoUnready(pod, budget)) return
  const { group, version, plural } = podDisruptionBudgets
  const definition = api.catalog.find(group, version, plural)
  if (!definition) return
  const name = budget.metadata.name ?? ''
  await api.registry.update(
    { ...scope, definition, name, subresource: 'status' },
    {
      uidIsPrecondition: false,
      createAbsent: 'never',
      transform: (current) =>
        spend(current!() as unknown as PodDisruptionBudget, scope.name, api.clock.now()) as KubeObject,
    },
    { ...options, fieldManager: 'kube-apiserver' },
  )
}

function holds({ preconditions }: DeleteOptions, { metadata }: KubeObject): boolean {
  const { uid = metadata.uid, resourceVersion = metadata.resourceVersion } = preconditions ?? {}
  return uid === metadata.uid && resourceVersion === metadata.resourceVersion
}

/** Resolves to the pod's new resourceVersion. */
async function markDisrupted(api: ApiContext, scope: ObjectScope, options: WriteOptions): Promise<string> {
  const now = toTime(api.clock.now())
  const { stored } = await api.registry.update(
    { ...scope, subresource: 'status' },
    {
      uidIsPrecondition: false,
      createAbsent: 'never',
      transform(current) {
        const object = current!()
        const pod = object as unknown as Pod
        const conditions = pod.status?.conditions ?? []
        if (!conditions.some(({ type, status }) => type === 'DisruptionTarget' && status === 'True')) {
          const others = conditions.filter(({ type }) => type !== 'DisruptionTarget')
          pod.status = { ...pod.status, conditions: [...others, disrupted(now)] }
        }
        return object
      },
    },
    { ...options, managedFieldsAreSet: true },
  )
  return String(stored.revision)
}

const disrupted = (now: string): PodCondition =>
  ({
    type: 'DisruptionTarget',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: now,
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  }) as unknown as PodCondition
