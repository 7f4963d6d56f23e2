/**
 * The table of kinds in docs/compatibility.md: from the catalog, held against the discovery of a real server. `--write`
 * puts it there; without, exit 1 when it is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import type { ResourceDefinition } from '../apiserver/kind/resource-definition.ts'
import { subresourcesOf } from '../apiserver/kind/subresources.ts'
import { resources } from '../apiserver/resources/index.ts'
import { unattended } from './unattended-kinds.ts'

interface UpstreamResource {
  resource: string
  responseKind: { kind: string }
  verbs: string[]
  shortNames?: string[]
  categories?: string[]
  subresources?: { subresource: string; verbs: string[] }[]
}
interface DiscoveryDocument {
  items: { metadata: { name?: string }; versions: { version: string; resources: UpstreamResource[] }[] }[]
}

const file = new URL('../docs/compatibility.md', import.meta.url)
const [begin, end] = ['<!-- kinds: made by scripts/kinds-table.ts -->\n', '<!-- end of kinds -->']
const allVerbs = 'create, delete, deletecollection, get, list, patch, update, watch'

function upstreamResources(): Map<string, UpstreamResource> {
  const text = readFileSync(new URL('../openapi/input/discovery.json', import.meta.url), 'utf8')
  const { api, apis } = JSON.parse(text) as { api: DiscoveryDocument; apis: DiscoveryDocument }
  const entries = [...api.items, ...apis.items].flatMap(({ metadata, versions }) =>
    versions.flatMap(({ version, resources }) =>
      resources.map((resource): [string, UpstreamResource] => [
        `${versionName(metadata.name, version)} ${resource.resource}`,
        resource,
      ]),
    ),
  )
  return new Map(entries)
}

const versionName = (group: string | undefined, version: string): string => (group ? `${group}/${version}` : version)
const sorted = (words: readonly string[] = []): string => [...words].sort().join(', ')

/** What both say of a resource, in the same words. */
function ours(definition: ResourceDefinition): Record<string, string> {
  return {
    verbs: sorted(definition.verbs) || allVerbs,
    'short names': sorted(definition.shortNames),
    categories: sorted(definition.categories),
    subresources: sorted(subresourcesOf(definition).map(({ name, verbs }) => `${name} (${sorted(verbs)})`)),
  }
}
function theirs({ verbs, shortNames, categories, subresources = [] }: UpstreamResource): Record<string, string> {
  return {
    verbs: sorted(verbs),
    'short names': sorted(shortNames),
    categories: sorted(categories),
    subresources: sorted(subresources.map((one) => `${one.subresource} (${sorted(one.verbs)})`)),
  }
}

function row(definition: ResourceDefinition, upstream: UpstreamResource | undefined): string {
  const { group, version, kind, plural, selectableFields = {} } = definition
  const own = ours(definition)
  const real = upstream && theirs(upstream)
  const differences = real
    ? Object.keys(own).flatMap((key) => (own[key] === real[key] ? [] : `${key}: ${real[key] || 'none'} there`))
    : ["Kubestage's own"]
  const note = unattended[`${group}/${kind}`]
  const notes = [...differences, ...(note ? [note] : [])]
  const names = subresourcesOf(definition).map(({ name }) => name)
  const cells = [
    versionName(group, version),
    kind,
    [`\`${plural}\``, ...(definition.shortNames ?? []).map((name) => `\`${name}\``)].join(' '),
    own.verbs === allVerbs ? 'all' : own.verbs,
    names.join(', '),
    Object.keys(selectableFields).join(', '),
    notes.join('; ') || 'works',
  ]
  return `| ${cells.join(' | ')} |`
}

function table(): string {
  const upstream = upstreamResources()
  const rows = resources.map((definition) => {
    const key = `${versionName(definition.group, definition.version)} ${definition.plural}`
    const real = upstream.get(key)
    upstream.delete(key)
    return row(definition, real)
  })
  const missing = [...upstream].map(([key, { responseKind, verbs }]) => {
    const [version, plural] = key.split(' ')
    return `| ${version} | ${responseKind.kind} | \`${plural}\` | | | | not served; there: ${sorted(verbs)} |`
  })
  const kinds = new Set(resources.map(({ group, kind }) => `${group}/${kind}`))
  const unknown = Object.keys(unattended).filter((name) => !kinds.has(name))
  if (unknown.length > 0) throw new Error(`scripts/unattended-kinds.ts speaks of kinds that are not there: ${unknown}`)
  const head = [
    '| version | kind | names | verbs | subresources | field selectors, besides name and namespace | |',
    '|---|---|---|---|---|---|---|',
  ]
  return `${[...head, ...rows, ...missing].join('\n')}\n`
}

const text = readFileSync(file, 'utf8')
const [before, rest] = text.split(begin)
const after = rest?.slice(rest.indexOf(end))
if (before === undefined || after === undefined) throw new Error(`docs/compatibility.md has no ${begin}`)
const wanted = before + begin + table() + after
if (process.argv.includes('--write')) writeFileSync(file, wanted)
else if (wanted !== text) {
  console.error(
    'the kinds in docs/compatibility.md are stale: run `node scripts/kinds-table.ts --write` and commit the result',
  )
  process.exitCode = 1
}
