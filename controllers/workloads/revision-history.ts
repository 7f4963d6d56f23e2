import { nextInt64 } from '../../shared/api/json/exact-json.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { ObjectMeta, PodTemplateSpec } from '../../shared/api/types.ts'
import type { ControllerRevision } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import { controllerRevisions } from '../../shared/client/resources.ts'
import { controllerOf, controllerReference, type OwnerKind } from '../informers/ownership.ts'
import { canonical, isSameTemplate, templateHash } from './templates.ts'

export const REVISION_HASH_LABEL = 'controller-revision-hash'

interface Templated {
  metadata: ObjectMeta
  spec: { template: PodTemplateSpec; revisionHistoryLimit?: number }
}

/**
 * Returns the hash that pods of a DaemonSet's revision have as their label; pods of a StatefulSet have the revision's
 * name.
 */
export const hashOf = ({ metadata }: ControllerRevision): string => metadata.labels?.[REVISION_HASH_LABEL] ?? ''

/** The template that a revision keeps, as a patch of the spec. */
export const templateOf = ({ data }: ControllerRevision): PodTemplateSpec => {
  const { $patch: _patch, ...template } = (data as { spec: { template: PodTemplateSpec & { $patch?: string } } }).spec
    .template
  return template
}

/**
 * Makes the revision of the present template the newest of the owner's; `hashLabel`: where the revision keeps its hash.
 * Upstream: pkg/controller/history.
 */
export async function currentRevision(
  owner: Templated,
  revisions: readonly ControllerRevision[],
  { client, kind, hashLabel = REVISION_HASH_LABEL }: { client: Client; kind: OwnerKind; hashLabel?: string },
): Promise<ControllerRevision> {
  const newest = revisions.reduce((most, { revision }) => (revision > most ? revision : most), 0)
  const found = revisions.find((revision) => isSameTemplate(templateOf(revision), owner.spec.template))
  if (found?.revision === newest) return found
  if (found) return client.update<ControllerRevision>(controllerRevisions, { ...found, revision: nextInt64(newest) })
  const hash = templateHash(owner.spec.template)
  const { namespace } = owner.metadata
  const name = `${owner.metadata.name}-${hash}`
  const made: ControllerRevision = {
    metadata: {
      namespace,
      name,
      labels: { ...owner.spec.template.metadata?.labels, [hashLabel]: hash },
      annotations: owner.metadata.annotations,
      ownerReferences: [controllerReference(kind, owner.metadata)],
    },
    // kubectl compares its bytes with what it makes of the present template.
    data: canonical({ spec: { template: { ...owner.spec.template, $patch: 'replace' } } }),
    revision: nextInt64(newest),
  }
  try {
    return await client.create<ControllerRevision>(controllerRevisions, made)
  } catch (error) {
    if (!isStatus(error, 'AlreadyExists')) throw error
    const there = await client.get<ControllerRevision>(controllerRevisions, { namespace, name })
    if (controllerOf(there.metadata)?.uid === owner.metadata.uid) return there
    throw error
  }
}

/** Revisions beyond the limit, oldest first; none that pods still are of, as `nameOf` says. */
export function beyondLimit(
  revisions: readonly ControllerRevision[],
  {
    limit = 10,
    inUse,
    nameOf = hashOf,
  }: { limit?: number; inUse: ReadonlySet<string>; nameOf?(revision: ControllerRevision): string },
): ControllerRevision[] {
  const idle = revisions
    .filter((revision) => !inUse.has(nameOf(revision)))
    .sort((a, b) => (a.revision < b.revision ? -1 : 1))
  return idle.slice(0, Math.max(0, idle.length - limit))
}
