/** The objects of a write as a webhook or a policy is shown them. */
import { apiVersionOf } from '../../shared/api/api-version.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { AdmissionAttributes } from '../registry/admission-plugin.ts'
import { asShown, decodeStored, encodeForStorage } from '../registry/stored-object.ts'

export interface SeenObjects {
  object: KubeObject | null
  oldObject: KubeObject | null
}

/**
 * Returns the objects of a request in the version of `as`, with apiVersion and kind set. The objects are copies of
 * their top level only and share everything below. Rejects with a StatusError if a conversion fails.
 */
export async function seenObjects(
  { definition, view, object, old }: AdmissionAttributes,
  as: ResourceDefinition,
): Promise<SeenObjects> {
  const kind = view ?? as
  const seen = async (whole: KubeObject | undefined): Promise<KubeObject | null> => {
    if (!whole) return null
    const shown = view ? view.show(whole) : await convertObject(whole, definition, as)
    return { kind: kind.kind, apiVersion: apiVersionOf(kind), ...withoutType(shown) } as KubeObject
  }
  return { object: await seen(object), oldObject: await seen(old) }
}

const withoutType = ({ kind: _kind, apiVersion: _apiVersion, ...rest }: KubeObject): object => rest

/** Returns an object in another version of its resource. Rejects with a StatusError if the conversion fails. */
export async function convertObject(
  object: KubeObject,
  from: ResourceDefinition,
  to: ResourceDefinition,
): Promise<KubeObject> {
  if (from === to) return object
  if (from.custom?.webhook) return from.custom.webhook.convert(object, to.version)
  const { resourceVersion } = object.metadata
  const { value } = encodeForStorage(from, structuredClone(object))
  const converted = decodeStored(asShown(to, { value, revision: undefined }))
  converted.metadata.resourceVersion = resourceVersion
  return converted
}
