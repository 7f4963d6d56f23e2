/** Discovery as documents: what the catalog says about itself, in the two shapes that clients ask for. */

import { createHash } from 'node:crypto'
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { ResourceDefinition, Verb } from '../../kind/resource-definition.ts'
import { subresourcesOf } from '../../kind/subresources.ts'

const allVerbs: Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

/** Upstream's priorities: which group wins a short name. Others follow by name. */
const groupOrder = [
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'resource.k8s.io',
  'flowcontrol.apiserver.k8s.io',
]

type Definitions = readonly ResourceDefinition[]

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byPlural = (a: ResourceDefinition, b: ResourceDefinition): number => byText(a.plural, b.plural)

/** Named groups, in upstream's order. */
function groupsOf(definitions: Definitions): string[] {
  const rank = (group: string) => {
    const index = groupOrder.indexOf(group)
    return index === -1 ? groupOrder.length : index
  }
  return [...new Set(definitions.map(({ group }) => group))]
    .filter((group) => group !== '')
    .sort((a, b) => rank(a) - rank(b) || byText(a, b))
}

/** Returns the versions of a group: stable before beta before alpha, higher numbers first. */
export function versionsOf(definitions: Definitions, group: string): string[] {
  const found = definitions.filter((definition) => definition.group === group).map(({ version }) => version)
  return [...new Set(found)].sort(compareVersions)
}

const stages = ['', 'beta', 'alpha']
function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version))
  if (!left || !right) return left ? -1 : right ? 1 : byText(a, b)
  const [, leftMajor, leftStage = '', leftMinor = 0] = left
  const [, rightMajor, rightStage = '', rightMinor = 0] = right
  return (
    stages.indexOf(leftStage) - stages.indexOf(rightStage) ||
    Number(rightMajor) - Number(leftMajor) ||
    Number(rightMinor) - Number(leftMinor)
  )
}

export const apiVersions = (serverAddress: string) => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
})

function groupEntry(definitions: Definitions, group: string) {
  const versions = versionsOf(definitions, group).map((version) => ({
    groupVersion: apiVersionOf({ group, version }),
    version,
  }))
  return { name: group, versions, preferredVersion: versions[0] }
}

export const apiGroupList = (definitions: Definitions) => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groupsOf(definitions).map((group) => groupEntry(definitions, group)),
})

export const apiGroup = (definitions: Definitions, group: string) => ({
  kind: 'APIGroup',
  apiVersion: 'v1',
  ...groupEntry(definitions, group),
})

/** `GET /api/v1` and `/apis/<group>/<version>`; the core list has no apiVersion. */
export function apiResourceList(definitions: Definitions, group: string, version: string) {
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
export function aggregatedDiscovery(definitions: Definitions, which: 'core' | 'named') {
  const groups = which === 'core' ? [''] : groupsOf(definitions)
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map((group) => ({
      metadata: group === '' ? {} : { name: group },
      versions: versionsOf(definitions, group).map((version) => ({
        version,
        resources: definitions
          .filter((definition) => definition.group === group && definition.version === version)
          .sort(byPlural)
          .map(discoveryEntry),
        freshness: 'Current',
      })),
    })),
  }
}

function discoveryEntry(definition: ResourceDefinition) {
  const { plural, singular, namespaced, kind, verbs = allVerbs, shortNames, categories } = definition
  const subresources = subresourcesOf(definition).map((entry) => ({
    subresource: entry.name,
    responseKind: { group: entry.group ?? '', version: entry.version ?? '', kind: entry.kind },
    verbs: entry.verbs,
  }))
  return {
    resource: plural,
    responseKind: { group: '', version: '', kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames && { shortNames }),
    ...(categories && { categories }),
    ...(subresources.length > 0 && { subresources }),
  }
}
