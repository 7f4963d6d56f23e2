import { isStatus } from '../../shared/api/status/status-error.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { type ApiResource, supports } from '../controller.ts'

/** Describes the content that is left in a namespace, and why some of it could not be deleted. */
export interface RemainingContent {
  /** `pods.` or `deployments.apps` → number of objects. */
  resources: Map<string, number>
  /** Finalizer → number of objects it holds. */
  finalizers: Map<string, number>
  errors: string[]
}

const BATCH = 50

/**
 * Deletes all content once and tells what is left. Pods go first, and while one is there nothing else goes: they may
 * still need the rest.
 */
export async function deleteContent(
  client: Client,
  resources: readonly ApiResource[],
  options: { namespace: string; reason?: string },
): Promise<RemainingContent> {
  const remaining: RemainingContent = { resources: new Map(), finalizers: new Map(), errors: [] }
  const goesAlong = ({ namespaced, outlivesNamespace }: ApiResource): boolean => namespaced && !outlivesNamespace
  const deletable = resources.filter((resource) => goesAlong(resource) && supports(resource, 'list', 'delete'))
  const isPods = ({ group, plural }: ApiResource): boolean => group === '' && plural === 'pods'
  for (const wave of [deletable.filter(isPods), deletable.filter((resource) => !isPods(resource))]) {
    for (const resource of wave) await deleteAll(client, resource, options, remaining)
    if (remaining.resources.size > 0 || remaining.errors.length > 0) break
  }
  return remaining
}

async function deleteAll(
  client: Client,
  resource: ApiResource,
  { namespace, reason }: { namespace: string; reason?: string },
  remaining: RemainingContent,
): Promise<void> {
  const { items } = await client.list(resource, { namespace })
  for (let start = 0; start < items.length; start += BATCH) {
    const batch = items.slice(start, start + BATCH).filter(({ metadata }) => !metadata.deletionTimestamp)
    const outcomes = await Promise.allSettled(
      batch.map(({ metadata }) =>
        client.delete(
          resource,
          { namespace, name: metadata.name ?? '' },
          { propagationPolicy: 'Background', ...(reason && { reason }) },
        ),
      ),
    )
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected' && !isStatus(outcome.reason, 'NotFound'))
        remaining.errors.push(String(outcome.reason))
    }
  }
  if (items.length > 0) count(remaining, resource, (await client.list(resource, { namespace })).items)
}

function count(remaining: RemainingContent, { plural, group }: ApiResource, items: KubeObject[]): void {
  if (items.length === 0) return
  remaining.resources.set(`${plural}.${group}`, items.length)
  for (const finalizer of items.flatMap(({ metadata }) => metadata.finalizers ?? [])) {
    remaining.finalizers.set(finalizer, (remaining.finalizers.get(finalizer) ?? 0) + 1)
  }
}
