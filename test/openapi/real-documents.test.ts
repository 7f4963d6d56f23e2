/** Every OpenAPI document against those of a real server: each path, method, parameter, type and definition. */
import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'
import { addedDocuments, addedFields, addedGroups, addedTypes } from './added.ts'
import { type Facts, type Published, publishedFacts, unresolved } from './facts.ts'
import { customResources, readPublished, readRecording } from './recording.ts'

/** What this API has beyond Kubernetes': taken out before documents are compared, and missed when it is not there. */
function withoutAdditions(published: Published): Published {
  const isOurs = (path: string) => path.split('/').some((part) => addedGroups.has(part))
  const found = new Set<string>()
  for (const document of [published.v2, ...Object.values(published.v3)]) {
    const schemas = (document.components?.schemas ?? document.definitions ?? {}) as Record<string, Schema>
    for (const [type, field] of addedFields) {
      const { properties } = schemas[type] ?? {}
      if (properties && field in properties) found.add(`${type}.${field}`) && delete properties[field]
    }
    const preStop = schemas['io.k8s.api.core.v1.Lifecycle']?.properties?.preStop
    for (const reference of preStop ? [preStop, ...(preStop.allOf ?? [])] : []) {
      if (reference.$ref) reference.$ref = reference.$ref.replace('.PreStopHandler', '.LifecycleHandler')
    }
    for (const name of Object.keys(schemas)) if (addedTypes.has(name)) found.add(name) && delete schemas[name]
    for (const path of Object.keys(document.paths)) if (isOurs(path)) delete document.paths[path]
    for (const name of Object.keys(document.parameters ?? {})) {
      if (name.startsWith('reason-')) delete document.parameters?.[name]
    }
    for (const [method, operation] of Object.values(document.paths).flatMap(Object.entries)) {
      if (method !== 'delete') continue
      operation.parameters = operation.parameters?.filter(
        ({ name = '', $ref = '' }: { name?: string; $ref?: string }) => name !== 'reason' && !$ref.includes('/reason-'),
      )
    }
    // WatchEvent and DeleteOptions are of every group.
    for (const schema of Object.values(schemas)) {
      const types = schema['x-kubernetes-group-version-kind']
      if (types) schema['x-kubernetes-group-version-kind'] = types.filter(({ group }) => !isOurs(group))
    }
  }
  for (const path of Object.keys(published.v3)) if (isOurs(path)) found.add(path) && delete published.v3[path]
  additionsFound = [...found].sort()
  return published
}
interface Schema {
  $ref?: string
  allOf?: Schema[]
  properties?: Record<string, Schema>
  'x-kubernetes-group-version-kind'?: { group: string }[]
}
let additionsFound: string[] = []

/** Lines that differ, as `path: theirs → ours`. */
function differences(theirs: unknown, ours: unknown, at: string[] = []): string[] {
  if (typeof theirs === 'object' && typeof ours === 'object' && theirs !== null && ours !== null) {
    const [left, right] = [theirs, ours] as Record<string, unknown>[]
    return [...new Set([...Object.keys(theirs), ...Object.keys(ours)])]
      .sort()
      .flatMap((key) => differences(left?.[key], right?.[key], [...at, key]))
  }
  return theirs === ours ? [] : [`${at.join(' ')}: ${JSON.stringify(theirs)} → ${JSON.stringify(ours)}`]
}

const server = await startTestApiServer(t)
for (const body of customResources) {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const { status, body: answer } = await server.send(path, { method: 'POST', body })
  if (status !== 201) throw new Error(JSON.stringify(answer))
}
const published = await readPublished(async (path) => (await server.send(path)).body)

t.test('a document defines what it refers to, and nothing else', async (t) => {
  for (const [path, document] of Object.entries({ v2: published.v2, ...published.v3 })) {
    t.same(unresolved(document), { missing: [], unused: [] }, path)
  }
})

const ours = publishedFacts(withoutAdditions(published))
const real = readRecording()

t.test('there are the documents that a real server has', async (t) => {
  t.same(Object.keys(ours.v3).sort(), Object.keys(real.v3).sort())
  const added = [...addedDocuments, ...addedTypes, ...addedFields.map((names) => names.join('.'))]
  t.same(additionsFound, [...new Set(added)].sort())
})

for (const part of ['v2', 'v3', 'schemas'] as (keyof Facts)[]) {
  t.test(`${part} is what a real server has`, async (t) => {
    const found = differences(real[part], ours[part])
    const shown = found.slice(0, Number(process.env.SHOW ?? 20)).map((line) => line.slice(0, 600))
    t.same(shown, [], `${found.length} differences, as path: theirs → ours`)
  })
}
