import { deepStrictEqual } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { conversionError } from '../../../apiserver/patch/from-unstructured.ts'
import { strategicMerge } from '../../../apiserver/patch/strategic-merge.ts'
import { decodeObject } from '../../../apiserver/validation/decoder.ts'
import type { StatusError } from '../../../shared/api/status/status-error.ts'

type Json = Record<string, unknown>
interface Step {
  method?: string
  path?: string
  type?: string
  body?: Json
  only?: string[]
  answer?: { status: number; body?: Json & { message?: string } }
}

const schemas: Record<string, string> = {
  configmaps: 'io.k8s.api.core.v1.ConfigMap',
  podtemplates: 'io.k8s.api.core.v1.PodTemplate',
  ingresses: 'io.k8s.api.networking.v1.Ingress',
  networkpolicies: 'io.k8s.api.networking.v1.NetworkPolicy',
  poddisruptionbudgets: 'io.k8s.api.policy.v1.PodDisruptionBudget',
  roles: 'io.k8s.api.rbac.v1.Role',
  deployments: 'io.k8s.api.apps.v1.Deployment',
  cronjobs: 'io.k8s.api.batch.v1.CronJob',
}
const recorded = JSON.parse(
  readFileSync(new URL('../../golden/api/patch-strategic.json', import.meta.url), 'utf8'),
) as { name: string; steps: Step[] }[]

/** Messages of the merge itself; other refusals come from what looks at its result. */
const ownErrors = /merge key|patch type|merging lists|order in patch list|retainKeys|expected a|lists of lists/

t.test('recorded answers of a real server', async (t) => {
  let patches = 0
  for (const { name, steps } of recorded) {
    const live = new Map<string, Json>()
    for (const { method, path = '', type = '', body, answer } of steps) {
      const [, plural = '', object] = /{{ns}}\/(\w+)(?:\/([\w-]+))?(?:\?|$)/.exec(path) ?? []
      const schema = schemas[plural]
      if (!schema || !body) continue
      if (method === 'POST') live.set(`${plural}/${(body.metadata as Json).name}`, decoded(schema, body))
      const before = live.get(`${plural}/${object}`)
      if (method !== 'PATCH' || !type.includes('strategic') || !before || path.includes('force')) continue
      patches++
      const after = check(t, name, { schema, before, patch: body, answer: answer?.body })
      if (after && answer?.status === 200) live.set(`${plural}/${object}`, after)
    }
  }
  t.ok(patches > 70, `${patches} patches`)
})

function decoded(schema: string, body: Json): Json {
  return JSON.parse(JSON.stringify(decodeObject({ schema }, structuredClone(body)).object)) as Json
}

function check(
  t: Test,
  name: string,
  {
    schema,
    before,
    patch,
    answer,
  }: { schema: string; before: Json; patch: Json; answer?: (Json & { message?: string }) | undefined },
): Json | undefined {
  try {
    const after = strategicMerge(before, patch, schema)
    const wrong = conversionError(schema, after)
    t.equal(conversionError(schema, after, before), wrong, `${name}: what the patch left alone changes no verdict`)
    if (wrong) {
      t.ok(answer?.message === undefined || answer.message.endsWith(wrong), `${name}: ${wrong}`)
      return undefined
    }
    const object = decoded(schema, after)
    if (answer && answer.message === undefined) {
      for (const [path, value] of Object.entries(answer))
        t.equal(missing(at(object, path), value), undefined, `${name}: ${path}`)
    } else t.notMatch(answer?.message ?? '', ownErrors, `${name}: should have been refused`)
    return object
  } catch (error) {
    t.equal(unquoted((error as StatusError).message), unquoted(answer?.message), `${name}: message`)
    return undefined
  }
}

/** Messages quote live lists, with defaults. */
function unquoted(message: string | undefined): string | undefined {
  return message?.replace(/ identical: .*/, '')
}

function at(object: Json, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Json | undefined)?.[key], object)
}

/** Where the answer, which has defaults besides, does not hold what we made. */
function missing(ours: unknown, theirs: unknown, path = ''): string | undefined {
  if (typeof ours !== 'object' || ours === null)
    return ours === undefined || ours === theirs || stamped(theirs) ? undefined : path
  if (Array.isArray(ours)) {
    if (!Array.isArray(theirs) || theirs.length !== ours.length) return path
    return first(ours.map((item, index) => missing(item, theirs[index], `${path}[${index}]`)))
  }
  if (Object.keys(ours).length === 0) return undefined
  if (typeof theirs !== 'object' || theirs === null) return path
  return first(Object.entries(ours).map(([key, item]) => missing(item, (theirs as Json)[key], `${path}.${key}`)))
}
function first(found: (string | undefined)[]): string | undefined {
  return found.find((path) => path !== undefined)
}
function stamped(value: unknown): boolean {
  return typeof value === 'string' && /[<{]/.test(value)
}

const template = 'io.k8s.api.core.v1.PodTemplate'
const spec = (containers: Json[]): Json => ({ metadata: { name: 't' }, template: { spec: { containers } } })
const containersOf = (object: Json) => at(object, 'template.spec.containers') as Json[]

t.test('neither the object nor the patch is changed', async (t) => {
  const object = spec([{ name: 'a', env: [{ name: 'A' }, { name: 'B' }] }, { name: 'b' }])
  const patch = spec([
    { name: 'a', '$setElementOrder/env': [{ name: 'B' }, { name: 'A' }], env: [{ name: 'B', value: '1' }] },
    { name: 'b', $patch: 'delete' },
  ])
  const copies = [structuredClone(object), structuredClone(patch)]
  strategicMerge(object, patch, template)
  t.strictSame([object, patch], copies)
})

t.test('a patch that is applied twice does what it did once', async () => {
  const item = fc.record({ name: fc.constantFrom<string>('a', 'b', 'c', 'd'), image: fc.constantFrom('1', '2') })
  const items = fc
    .uniqueArray(item, { selector: ({ name }) => name, minLength: 1 })
    .map((all) => all.map((one) => ({ ...one })))
  fc.assert(
    fc.property(items, items, (before, patch) => {
      const once = strategicMerge(spec(before), spec(patch), template)
      deepStrictEqual(strategicMerge(once, spec(patch), template), once)
      const kept = before.map(({ name }) => name).filter((name) => !patch.some((other) => other.name === name))
      const names = containersOf(once).map(({ name }) => name as string)
      deepStrictEqual(
        names.filter((name) => kept.includes(name)),
        kept,
      )
    }),
  )
})

t.test('fields the type does not have', async (t) => {
  t.throws(() => strategicMerge(spec([{ name: 'a' }]), { template: { '$setElementOrder/nope': [] } }, template), {
    message: 'unable to find api field in struct PodTemplateSpec for the json field "nope"',
  })
})
