import { isStatus } from '../../shared/api/status/status-error.ts'
import type { ObjectMeta } from '../../shared/api/types.ts'
import type { Resource } from '../../shared/client/client.ts'
import { everyState } from '../../shared/client/informer.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createLoopQueue } from '../loop-queue.ts'

export interface PublishedObject<T extends { metadata: ObjectMeta }> {
  resource: Resource
  name: string
  desired(namespace: string): T
  /** Returns whether the existing object may stay as it is. */
  upToDate(object: T): boolean
}

/**
 * Keeps one object present in every namespace that is not being deleted, and restores it after a user deletes or
 * changes it.
 */
export function startNamespacePublisher<T extends { metadata: ObjectMeta }>(
  context: ControllerContext,
  published: PublishedObject<T>,
): Controller {
  const { client, informers, clock, log } = context
  const { resource, name } = published
  const namespaces = informers.namespaces()
  const objects = informers.selected<T>(resource, {
    selection: { fieldSelector: `metadata.name=${name}` },
    handlers: [
      {
        onUpdate: ({ metadata }) => queue.add(metadata.namespace ?? ''),
        onDelete: ({ metadata }) => queue.add(metadata.namespace ?? ''),
      },
    ],
  })

  async function sync(namespace: string): Promise<void> {
    const owner = namespaces.get({ name: namespace })
    if (!owner || owner.metadata.deletionTimestamp) return
    const current = objects.get({ namespace, name })
    if (current && published.upToDate(current)) return
    const desired = published.desired(namespace)
    try {
      if (current) await client.update<T>(resource, { ...desired, metadata: current.metadata })
      else await client.create<T>(resource, desired)
    } catch (error) {
      if (!isObsolete(error)) throw error
    }
  }

  const queue = createLoopQueue({ clock, log, loop: `${name}-publisher`, object: 'Namespace' }, sync)
  // Not before the objects that exist are known: else each create would fail once.
  void objects.synced().then(
    () => namespaces.addHandler(everyState(({ metadata }) => queue.add(metadata.name ?? ''))),
    () => {},
  )
  return { close: () => queue.close() }
}

/** Someone was quicker, or the namespace is going away. */
const isObsolete = (error: unknown): boolean =>
  ['AlreadyExists', 'NotFound', 'Forbidden'].some((reason) => isStatus(error, reason))
