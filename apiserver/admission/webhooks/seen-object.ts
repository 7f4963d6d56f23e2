/** The objects of a write as a webhook or a policy is shown them. */
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../registry/resource-definition.ts'
import { conversionOf, encodeForStorage } from '../../registry/stored-object.ts'
import type { AdmissionAttributes } from '../admission-plugin.ts'

export interface SeenObjects {
  kind: { group: string; version: string; kind: string }
  object: KubeObject | null
  oldObject: KubeObject | null
}

/** In the version of `as`, with their kinds. Copies, but for what is below their top level. */
export function seenObjects(
  { definition, view, object, old }: AdmissionAttributes,
  as: ResourceDefinition,
): SeenObjects {
  const kind = view ?? as
  const seen = (whole: KubeObject | undefined): KubeObject | null => {
    if (!whole) return null
    const shown = view ? view.show(whole) : convertObject(whole, definition, as)
    return { kind: kind.kind, apiVersion: apiVersionOf(kind), ...withoutType(shown) } as KubeObject
  }
  return {
    kind: { group: kind.group, version: kind.version, kind: kind.kind },
    object: seen(object),
    oldObject: seen(old),
  }
}

const withoutType = ({ kind: _kind, apiVersion: _apiVersion, ...rest }: KubeObject): object => rest

/** `apps/v1`, or `v1` in the core group. */
export const apiVersionOf = ({ group, version }: { group: string; version: string }): string =>
  group ? `${group}/${version}` : version

/** An object of one version of its resource in another. */
export function convertObject(object: KubeObject, from: ResourceDefinition, to: ResourceDefinition): KubeObject {
  if (from === to) return object
  const { resourceVersion } = object.metadata
  const value = encodeForStorage(from, structuredClone(object))
  const shown = conversionOf(to)?.present({ value, revision: Number.POSITIVE_INFINITY }) ?? value
  const converted = JSON.parse(shown) as KubeObject
  converted.metadata.resourceVersion = resourceVersion
  return converted
}
