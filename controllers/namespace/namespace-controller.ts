import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Namespace } from '../../shared/api/types.ts'
import { namespaces as namespacesResource } from '../../shared/client/resources.ts'
import {
  type ApiResource,
  type ApiResources,
  type Controller,
  type ControllerContext,
  supports,
} from '../controller.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { terminatingConditions } from './conditions.ts'
import { deleteContent } from './content.ts'

const FINALIZER = 'kubernetes'
/** Content that takes its time is looked at again when some of it goes; this is for what no informer shows. */
const RECHECK_MS = 2_000

/** Empties a namespace that is being deleted, with the reason it is deleted for, and lets it go. */
export function startNamespaceController(context: ControllerContext, resources: ApiResources): Controller {
  const { client, informers, clock, log } = context
  const namespaces = informers.namespaces()

  async function sync(name: string): Promise<void> {
    const namespace = namespaces.get({ name })
    if (!namespace || !isWaiting(namespace)) return
    try {
      const done = await terminate(namespace)
      if (!done) queue.addAfter(name, RECHECK_MS)
    } catch (error) {
      if (!isStatus(error, 'NotFound')) throw error
    }
  }

  async function terminate(namespace: Namespace): Promise<boolean> {
    const name = namespace.metadata.name ?? ''
    const remaining = await deleteContent(client, resources.current(), {
      namespace: name,
      reason: namespace.metadata.reason,
    })
    const current = namespace.status?.conditions ?? []
    const conditions = terminatingConditions(current, remaining, clock.now())
    const reported = conditions.some((condition) => !current.includes(condition as (typeof current)[number]))
      ? await client.patch<Namespace>(
          namespacesResource,
          { name },
          { status: { conditions } },
          { subresource: 'status' },
        )
      : namespace
    if (remaining.resources.size > 0 || remaining.errors.length > 0) return false
    const finalizers = (reported.spec?.finalizers ?? []).filter((finalizer) => finalizer !== FINALIZER)
    await client.update<Namespace>(
      namespacesResource,
      { ...reported, spec: { finalizers } },
      { subresource: 'finalize' },
    )
    return true
  }

  const queue = createLoopQueue({ clock, log, loop: 'namespace-controller', object: 'Namespace', concurrency: 4 }, sync)
  const consider = (namespace: Namespace): void => {
    if (isWaiting(namespace)) queue.add(namespace.metadata.name ?? '')
  }
  namespaces.addHandler({ onAdd: consider, onUpdate: consider })
  resources.follow({
    onAdd(resource) {
      if (!isWorthWatching(resource)) return
      informers.metadata(resource).addHandler({
        onDelete: ({ metadata }) => {
          const namespace = namespaces.get({ name: metadata.namespace ?? '' })
          if (namespace) consider(namespace)
        },
      })
    },
  })
  return { close: () => queue.close() }
}

const isWaiting = ({ metadata, spec }: Namespace): boolean =>
  metadata.deletionTimestamp !== undefined && spec?.finalizers?.includes(FINALIZER) === true

/** Events come and go by the thousand and hold nothing up. */
const isWorthWatching = (resource: ApiResource): boolean =>
  resource.namespaced && supports(resource, 'list', 'watch', 'delete') && resource.plural !== 'events'
