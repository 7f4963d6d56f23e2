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
 * In the version of `as`, with their kinds. Copies, but for what is below their top level. Rejects with a StatusError.
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

/** An object of one version of its resource in another. Rejects with a StatusError. */
export async function convertObject(
  object: KubeObject,
  from: ResourceDefinition,
  to: ResourceDefinition,
): Promise<KubeObject> {
  if (from === to) return object
  if (from.custom?.webhook) return from.custom.webhook.convert(object, to.version)
  const { resourceVersion } = object.metadata
  const value = encodeForStorage(from, structuredClone(object))
  const converted = decodeStored(asShown(to, { value, revision: undefined }))
  converted.metadata.resourceVersion = resourceVersion
  return converted
}
