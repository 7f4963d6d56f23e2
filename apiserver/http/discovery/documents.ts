/** Discovery as documents: what the catalog says about itself, in the two shapes that clients ask for. */

import { createHash } from 'node:crypto'
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { GroupVersion } from '../../aggregation/api-service.ts'
import { localPriorities, type Priorities } from '../../aggregation/priorities.ts'
import { compareVersions } from '../../kind/compare-versions.ts'
import type { ResourceDefinition, Verb } from '../../kind/resource-definition.ts'
import { subresourcesOf } from '../../kind/subresources.ts'

const allVerbs: Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

/** Lists what is to be discovered: what this server serves itself, and what other servers do. */
export interface Discovered {
  definitions: Definitions
  remote: readonly RemoteVersion[]
}

/** A group version of another server, with the entries that its own discovery has. */
export type RemoteVersion = GroupVersion & Priorities & { resources: object[]; freshness: string }

type Definitions = readonly ResourceDefinition[]

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byPlural = (a: ResourceDefinition, b: ResourceDefinition): number => byText(a.plural, b.plural)

/** Orders groups: the first one's short name wins. Upstream: kube-aggregator's SortedByGroupAndVersion. */
function groupsOf(discovered: Discovered): string[] {
  const ranks = new Map<string, number>()
  for (const { group, groupPriorityMinimum } of rankedVersions(discovered))
    ranks.set(group, Math.max(ranks.get(group) ?? 0, groupPriorityMinimum))
  ranks.delete('')
  return [...ranks].sort(([a, left], [b, right]) => right - left || byText(a, b)).map(([group]) => group)
}

/** Returns the versions of a group: by priority, then stable before beta before alpha, higher numbers first. */
function versionsOf(discovered: Discovered, group: string): string[] {
  return rankedVersions(discovered)
    .filter((one) => one.group === group)
    .sort((a, b) => b.versionPriority - a.versionPriority || compareVersions(a.version, b.version))
    .map(({ version }) => version)
}

/** Each group version once. Another server's stands in for our own. */
function rankedVersions({ definitions, remote }: Discovered): (GroupVersion & Priorities)[] {
  const found = new Map<string, GroupVersion & Priorities>()
  for (const one of remote) found.set(apiVersionOf(one), one)
  for (const { group, version } of definitions) {
    const id = apiVersionOf({ group, version })
    if (!found.has(id)) found.set(id, { group, version, ...localPriorities(group, version) })
  }
  return [...found.values()]
}

export const apiVersions = (serverAddress: string) => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
})

function groupEntry(discovered: Discovered, group: string) {
  const versions = versionsOf(discovered, group).map((version) => ({
    groupVersion: apiVersionOf({ group, version }),
    version,
  }))
  return { name: group, versions, preferredVersion: versions[0] }
}

export const apiGroupList = (discovered: Discovered) => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groupsOf(discovered).map((group) => groupEntry(discovered, group)),
})

export const apiGroup = (discovered: Discovered, group: string) => ({
  kind: 'APIGroup',
  apiVersion: 'v1',
  ...groupEntry(discovered, group),
})

/** `GET /api/v1` and `/apis/<group>/<version>`; the core list has no apiVersion. */
export function apiResourceList({ definitions }: Discovered, group: string, version: string) {
  const resources = definitions
    .filter((definition) => definition.group === group && definition.version === version)
    .sort(byPlural)
    .flatMap(resourceEntries)
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: apiVersionOf({ group, version }),
    resources,
  }
}

function resourceEntries(definition: ResourceDefinition) {
  const { plural, singular, namespaced, kind, verbs = allVerbs, shortNames, categories } = definition
  return [
    {
      name: plural,
      singularName: singular,
      namespaced,
      kind,
      verbs,
      ...(shortNames && { shortNames }),
      ...(categories && { categories }),
      ...(verbs.includes('list') && !definition.virtual && { storageVersionHash: storageVersionHash(definition) }),
    },
    ...subresourcesOf(definition).map((entry) => ({
      name: `${plural}/${entry.name}`,
      singularName: '',
      namespaced,
      ...(entry.version !== undefined && { group: entry.group, version: entry.version }),
      kind: entry.kind,
      verbs: entry.verbs,
    })),
  ]
}

const storageVersionHash = ({
  group,
  version,
  storageVersion = version,
  kind,
  conversion,
}: ResourceDefinition): string =>
  createHash('sha256')
    .update(`${conversion?.storageGroup ?? group}/${storageVersion}/${kind}`)
    .digest()
    .subarray(0, 8)
    .toString('base64')

/** The aggregated form: of the core group, or of all named ones. */
export function aggregatedDiscovery(discovered: Discovered, which: 'core' | 'named') {
  const groups = which === 'core' ? [''] : groupsOf(discovered)
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map((group) => ({
      metadata: group === '' ? {} : { name: group },
      versions: versionsOf(discovered, group).map((version) => versionEntry(discovered, { group, version })),
    })),
  }
}

function versionEntry({ definitions, remote }: Discovered, { group, version }: GroupVersion) {
  const isSame = (other: GroupVersion): boolean => other.group === group && other.version === version
  const elsewhere = remote.find(isSame)
  if (elsewhere) return { version, resources: elsewhere.resources, freshness: elsewhere.freshness }
  return { version, resources: definitions.filter(isSame).sort(byPlural).map(discoveryEntry), freshness: 'Current' }
}

function discoveryEntry(definition: ResourceDefinition) {
  const { plural, singular, namespaced, kind, verbs = allVerbs, shortNames, categories, custom } = definition
  // Upstream names the group and version of a kind of its own by empty texts.
  const { group, version } = custom ? definition : { group: '', version: '' }
  const subresources = subresourcesOf(definition).map((entry) => ({
    subresource: entry.name,
    responseKind: { group: entry.group ?? group, version: entry.version ?? version, kind: entry.kind },
    verbs: entry.verbs,
  }))
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames && { shortNames }),
    ...(categories && { categories }),
    ...(subresources.length > 0 && { subresources }),
  }
}
