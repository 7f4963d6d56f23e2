import { toJson } from '../../../shared/api/json/exact-json.ts'
import { notAcceptable, plainError } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { decodeStored, type StoredObject, shownParts, typeHead } from '../../registry/stored-object.ts'
import type { Query } from '../request-info.ts'
import type { Negotiated } from './negotiation.ts'
import { partialObjectMetadata } from './partial-object-metadata.ts'
import { includeObject, tableOf } from './table.ts'

/** The JSON of one object as the client wants it, in parts that need not be joined. */
export function encodeForClient(
  definition: ResourceDefinition,
  stored: StoredObject,
  { negotiated: { transform }, query, clock }: { negotiated: Negotiated; query: Query; clock: Clock },
): string | readonly string[] {
  if (!transform) return shownParts(headOf(definition), stored)
  switch (transform.kind) {
    case 'Table':
      return toJson(
        tableOf(definition, [decodeStored(stored)], {
          version: transform.version,
          include: includeObject(query),
          metadata: { resourceVersion: stored.revision === undefined ? undefined : String(stored.revision) },
          nowMs: clock.now(),
        }),
      )
    case 'PartialObjectMetadata':
      return toJson(partialObjectMetadata(decodeStored(stored), transform.version, definition))
    case 'PartialObjectMetadataList':
      throw notAList(definition)
  }
}

/** The JSON of an object that is answered and not stored; such kinds have no Table. */
export function encodeUnstored(
  definition: Pick<ResourceDefinition, 'group' | 'kind'>,
  object: KubeObject,
  { transform }: Negotiated,
): string {
  if (transform?.kind === 'PartialObjectMetadataList') throw notAList(definition)
  return toJson(transform ? partialObjectMetadata(object, transform.version) : object)
}

const notAList = (definition: Pick<ResourceDefinition, 'group' | 'kind' | 'custom'>) =>
  definition.custom
    ? plainError('content is not a list')
    : notAcceptable(
        `you requested PartialObjectMetadataList, but the requested object is not a list (*${goType(definition)})`,
      )

const heads = new WeakMap<ResourceDefinition, string>()

export function headOf(definition: ResourceDefinition): string {
  let head = heads.get(definition)
  if (head === undefined) {
    head = typeHead(definition)
    heads.set(definition, head)
  }
  return head
}

/** Returns the internal type as Go prints it in messages. Events of both groups are one type. */
export const goType = ({ group, kind }: Pick<ResourceDefinition, 'group' | 'kind'>): string =>
  `${group === '' || kind === 'Event' ? 'core' : group.split('.')[0]}.${kind}`
