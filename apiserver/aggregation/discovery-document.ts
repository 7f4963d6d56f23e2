import { isMap, type JsonMap } from '../values/json-map.ts'
import type { GroupVersion } from './api-service.ts'

/** Holds what another server says about a group version, in the form of aggregated discovery. */
export interface DiscoveredVersion {
  resources: object[]
  /** Stale: the server did not answer when it was asked last. */
  freshness: 'Current' | 'Stale'
}

const objects = (value: unknown): JsonMap[] => (Array.isArray(value) ? value.filter(isMap) : [])
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [])

/** A kind that is not named is an empty one: clients expect the field. */
function kindOf(value: unknown): JsonMap {
  const { group, version, kind } = isMap(value) ? value : {}
  return { group: text(group), version: text(version), kind: text(kind) }
}

/** Returns a document's JSON. Throws an Error if it is no object. */
function parsed(body: string): JsonMap {
  const document = JSON.parse(body) as unknown
  if (!isMap(document)) throw new Error('the document is not an object')
  return document
}

/**
 * Returns the resources of each group version in an APIGroupDiscoveryList, by `group/version`. Takes over only what
 * belongs into such a list: the document comes from another program. Throws an Error if the body is not JSON.
 */
export function readAggregated(body: string): Map<string, object[]> {
  const found = new Map<string, object[]>()
  for (const { metadata, versions } of objects(parsed(body).items)) {
    const group = text(isMap(metadata) ? metadata.name : '')
    for (const { version, resources } of objects(versions))
      found.set(`${group}/${text(version)}`, objects(resources).map(resourceOf))
  }
  return found
}

function resourceOf(resource: JsonMap): object {
  const shortNames = texts(resource.shortNames)
  const categories = texts(resource.categories)
  const subresources = objects(resource.subresources).map(({ subresource, responseKind, verbs }) => ({
    subresource: text(subresource),
    responseKind: kindOf(responseKind),
    verbs: texts(verbs),
  }))
  return {
    resource: text(resource.resource),
    responseKind: kindOf(resource.responseKind),
    scope: text(resource.scope),
    singularResource: text(resource.singularResource),
    verbs: texts(resource.verbs),
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(subresources.length > 0 && { subresources }),
  }
}

/**
 * Returns the resources of an APIResourceList, for servers that know no other form. Throws an Error if the body is not
 * JSON. Upstream: apiserver/pkg/endpoints ConvertGroupVersionIntoToDiscovery.
 */
export function readLegacy(body: string, { group, version }: GroupVersion): Map<string, object[]> {
  const listed = objects(parsed(body).resources)
  const byName = new Map<string, JsonMap & { subresources: JsonMap[] }>()
  for (const resource of listed) {
    const [parent = '', subresource] = text(resource.name).split('/', 2)
    const scope = resource.namespaced === true ? 'Namespaced' : 'Cluster'
    const known = byName.get(parent) ?? { resource: parent, scope, subresources: [] }
    byName.set(parent, known)
    const { verbs, shortNames, categories } = resource
    if (subresource !== undefined) known.subresources.push({ subresource, verbs, responseKind: resource })
    else
      Object.assign(known, {
        verbs,
        shortNames,
        categories,
        responseKind: resource,
        singularResource: resource.singularName,
      })
  }
  return new Map([[`${group}/${version}`, [...byName.values()].map(resourceOf)]])
}
