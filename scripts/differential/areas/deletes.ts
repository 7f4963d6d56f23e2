/** Deletions: options, preconditions, finalizers, grace, and of collections. */
import type { Random } from '../../../test/fuzz/random.ts'
import type { JsonObject } from '../bases.ts'
import type { Case, Step } from '../case.ts'
import { get, inSomeForm, patch, post, query, remove } from '../steps.ts'
import { fieldSelectors, labelSelectors } from './lists.ts'
import { homeOf, objectOf, type Sample, samples } from './samples.ts'

const options: Readonly<Record<string, readonly unknown[]>> = {
  propagationPolicy: ['Orphan', 'Background', 'Foreground', 'Background', 'x', '', null, 1],
  orphanDependents: [true, false, null, 'x'],
  gracePeriodSeconds: [0, 1, 30, -1, null, 'x', 1.5, 9_223_372_036_854_776_000],
  preconditions: [
    { uid: '{{uid}}' },
    { resourceVersion: '{{rv}}' },
    { uid: 'x' },
    { resourceVersion: '1' },
    { uid: '{{uid}}', resourceVersion: '{{rv}}' },
    {},
    null,
    { uid: '' },
  ],
  dryRun: [['All'], ['x'], [], null, 'All', ['All', 'All']],
  kind: ['DeleteOptions', 'DeleteOptions', 'Pod', ''],
  apiVersion: ['v1', 'meta.k8s.io/v1', 'policy/v1', 'x/y', 'apps/v1', ''],
  ignoreStoreReadErrorWithClusterBreakingPotential: [true, false],
  extra: [1],
}

const parameters = {
  propagationPolicy: ['Orphan', 'Background', 'Foreground', 'x', ''],
  orphanDependents: ['true', 'false', 'x', ''],
  gracePeriodSeconds: ['0', '1', '-1', 'x', ''],
  dryRun: ['All', 'x', ''],
  pretty: ['true'],
  fieldValidation: ['Strict', 'x'],
  resourceVersion: ['1', 'x'],
  unknown: ['1'],
}

const selectors = {
  labelSelector: ['a=1', 'a!=1', '!a', ...labelSelectors],
  fieldSelector: ['metadata.name=a', 'metadata.name!=a', ...fieldSelectors],
  limit: ['1', 'x', '0'],
  // A list that is not older than a revision may lag behind, and does.
  resourceVersion: ['0', 'x'],
  dryRun: ['All'],
  gracePeriodSeconds: ['0', 'x'],
  propagationPolicy: ['Foreground', 'Orphan', 'x'],
}

const finalizers: readonly unknown[] = [
  undefined,
  undefined,
  undefined,
  ['example.com/a'],
  ['foregroundDeletion'],
  ['orphan'],
  ['example.com/a', 'orphan'],
]

export function makeDelete(random: Random): Case {
  const sample = random.pick(samples)
  const names = ['a', 'b', 'c'].slice(0, 1 + random.below(3))
  const save = { rv: 'metadata.resourceVersion', uid: 'metadata.uid' }
  const steps: Step[] = homeOf(sample)
  for (const name of names) {
    const labels = random.pick([{}, { a: '1' }])
    const held = random.pick(finalizers)
    steps.push({
      ...post(sample.collection, objectOf(sample, { name, labels, ...(held ? { finalizers: held } : {}) })),
      save,
    })
  }
  if (sample.kind === 'Pod' && random.chance(0.4)) {
    const target = { kind: 'Node', name: 'n' }
    steps.push(post(`${sample.collection}/a/binding`, { metadata: { name: 'a' }, target }))
    if (random.chance(0.3))
      steps.push(patch('merge', `${sample.collection}/a/status`, { status: { phase: 'Succeeded' } }))
  }
  for (let more = 1 + random.below(4); more > 0; more--) {
    steps.push(deleteOf(sample, random))
    if (random.chance(0.5)) steps.push(get(`${sample.collection}/a`))
    if (random.chance(0.25)) steps.push(afterwards(sample, random))
  }
  steps.push(get(sample.collection))
  return { kind: sample.kind, operation: 'delete', what: names.join(' '), steps }
}

function deleteOf(sample: Sample, random: Random): Step {
  const { collection } = sample
  const path =
    random.chance(0.3) || random.chance(0.1)
      ? `${collection}${query(random, selectors)}`
      : `${collection}/${random.pick(['a', 'a', 'a', 'b', 'x'])}${query(random, parameters, 2)}`
  return inSomeForm(random, random.chance(0.7) ? remove(path, optionsOf(random)) : remove(path))
}

function optionsOf(random: Random): JsonObject {
  const chosen: JsonObject = {}
  for (let more = random.below(4); more > 0; more--) {
    const name = random.pick(Object.keys(options))
    chosen[name] = random.pick(options[name]!)
  }
  return chosen
}

/** What may be done to an object that is being deleted. */
function afterwards({ collection }: Sample, random: Random): Step {
  const metadata = random.pick<JsonObject>([
    { finalizers: null },
    { finalizers: [] },
    { finalizers: ['example.com/b'] },
    { labels: { x: 'y' } },
    { deletionTimestamp: null },
    { deletionGracePeriodSeconds: 5 },
    { deletionGracePeriodSeconds: null },
  ])
  return patch('merge', `${collection}/a`, { metadata })
}
