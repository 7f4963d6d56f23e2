/** Two clients write the same object: revisions, managers, forced applies, strict readers and dry runs. */
import type { Random } from '../../../test/fuzz/random.ts'
import type { JsonObject } from '../bases.ts'
import type { Case, Step } from '../case.ts'
import { mutate } from '../mutate.ts'
import { fieldPatch, get, inSomeForm, patch, post, protobuf, put, query, remove } from '../steps.ts'
import { homeOf, objectOf, type Sample, samples } from './samples.ts'

const options = {
  fieldManager: ['f', 'f', 'g', 'g', '', 'a'.repeat(129), 'a\u0001'],
  fieldValidation: ['Strict', 'Warn', 'Ignore', 'x', ''],
  dryRun: ['All', 'x', ''],
  force: ['true', 'true', 'false', 'x'],
  pretty: ['true'],
  unknown: ['1'],
}

const versions = ['{{rv}}', '{{rv}}', '{{old}}', '0', '', 'x', '5', '99999999999', 5]
const uids = ['{{uid}}', '{{uid}}', 'x', '', 'a0000000-0000-4000-8000-000000000000']
const finalizers: readonly unknown[] = [
  ['example.com/a'],
  ['a'],
  [],
  null,
  ['example.com/a', 'example.com/b'],
  ['kubernetes'],
]
const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }
const owners: readonly unknown[] = [
  [owner],
  [
    { ...owner, controller: true },
    { ...owner, uid: 'v', controller: true },
  ],
  [{ ...owner, uid: '' }],
  [{ ...owner, apiVersion: 'x/y/z' }],
  [{ ...owner, kind: 'Event' }],
  [],
  null,
]
const annotations: readonly unknown[] = [{ x: 'y' }, { x: null }, null, {}, { 'A b': '1' }, { x: 1 }]

export function makeWriters(random: Random): Case {
  const sample = random.pick(samples)
  const object = `${sample.collection}/a`
  const save = { rv: 'metadata.resourceVersion', uid: 'metadata.uid' }
  const first = { ...post(`${sample.collection}?fieldManager=f`, objectOf(sample, { name: 'a' })) }
  const steps: Step[] = [...homeOf(sample), { ...first, save: { ...save, old: 'metadata.resourceVersion' } }]
  for (let more = 2 + random.below(5); more > 0; more--) {
    steps.push(writeOf(sample, random))
    if (random.chance(0.4)) steps.push({ ...get(object), save })
  }
  steps.push(get(object))
  return { kind: sample.kind, operation: 'writers', what: `${steps.length} requests`, steps }
}

function metadataOf(random: Random): JsonObject {
  return {
    name: 'a',
    ...(random.chance(0.3) && { resourceVersion: random.pick(versions) }),
    ...(random.chance(0.15) && { uid: random.pick(uids) }),
    ...(random.chance(0.2) && { finalizers: random.pick(finalizers) }),
    ...(random.chance(0.15) && { ownerReferences: random.pick(owners) }),
    ...(random.chance(0.3) && { annotations: random.pick(annotations) }),
    ...(random.chance(0.05) && { namespace: random.pick(['{{name}}', 'x', '']) }),
    ...(random.chance(0.05) && { name: random.pick(['b', '', 'A', 'a/b']) }),
    ...(random.chance(0.05) && { generation: 7 }),
    ...(random.chance(0.05) && { deletionTimestamp: '2020-01-01T00:00:00Z' }),
    ...(random.chance(0.05) && { managedFields: random.pick([[], [{}], null]) }),
    ...(random.chance(0.05) && { generateName: 'x-' }),
  }
}

const writes = [
  'put',
  'put',
  'merge',
  'merge',
  'strategic',
  'json',
  'apply',
  'apply',
  'apply',
  'create',
  'remove',
] as const

function writeOf(sample: Sample, random: Random): Step {
  const object = `${sample.collection}/a${query(random, options, 2)}`
  const [path, values] = sample.change
  const changed = fieldPatch(path, random.pick(values))
  const metadata = metadataOf(random)
  const whole = merged(objectOf(sample, metadata), random.chance(0.6) ? changed : {})
  if (random.chance(0.1)) mutate(whole, random)
  if (random.chance(0.05)) whole.extra = 1
  const how = random.pick(writes)
  switch (how) {
    case 'put': {
      const step = put(object, whole)
      return inSomeForm(random, random.chance(0.1) ? { ...step, type: protobuf } : step)
    }
    case 'merge':
    case 'strategic':
      return inSomeForm(random, patch(how, object, { metadata, ...(random.chance(0.6) && changed) }))
    case 'json':
      return patch('json', object, [
        {
          op: random.pick(['add', 'replace', 'remove', 'test']),
          path: `/${path.replaceAll('.', '/')}`,
          value: random.pick(values),
        },
      ])
    case 'apply': {
      const applied = random.chance(0.5)
        ? whole
        : { apiVersion: sample.apiVersion, kind: sample.kind, metadata, ...changed }
      return patch('apply', object.includes('fieldManager') ? object : withManager(object, random), applied)
    }
    case 'create':
      return inSomeForm(random, post(`${sample.collection}${query(random, options, 2)}`, whole))
    case 'remove':
      return remove(object)
  }
}

const withManager = (path: string, random: Random): string =>
  `${path}${path.includes('?') ? '&' : '?'}fieldManager=${random.pick(['f', 'g', 'h'])}`

/** Returns the object with the fields of the change; maps are merged. */
function merged(object: JsonObject, change: JsonObject): JsonObject {
  const out: JsonObject = { ...object }
  for (const [key, value] of Object.entries(change)) {
    const known = out[key]
    out[key] = isMap(known) && isMap(value) ? merged(known, value) : value
  }
  return out
}

const isMap = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
