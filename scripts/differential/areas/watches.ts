/** Watches beside writes: events in their order, with selectors, bookmarks and initial events. */
import type { Random } from '../../../test/fuzz/random.ts'
import type { Case, Step } from '../case.ts'
import { fieldPatch, get, inSomeForm, patch, post, protobuf, query, remove } from '../steps.ts'
import { labelSelectors } from './lists.ts'
import { homeOf, objectOf, type Sample, samples } from './samples.ts'

const options = {
  labelSelector: [...Array(12).fill('a=1'), 'b', '!b', ...labelSelectors],
  fieldSelector: [
    'metadata.name=a',
    'metadata.name!=a',
    'metadata.name=a,metadata.name=b',
    'a=b',
    'status.phase=Pending',
  ],
  resourceVersion: ['0', '', 'x', '-1', '{{rv}}', '{{rv}}', '{{old}}', '{{old}}', '99999999999'],
  resourceVersionMatch: ['Exact', 'NotOlderThan', 'NotOlderThan', 'x', ''],
  allowWatchBookmarks: ['true', 'true', 'x', ''],
  sendInitialEvents: ['true', 'true', 'true', 'false', 'x'],
  timeoutSeconds: ['5', 'x', ''],
  limit: ['1', 'x'],
  continue: ['x'],
  includeObject: ['None', 'Object', 'x'],
  pretty: ['true'],
}

/** Writes some objects while watches are open, and opens others afterwards. */
export function makeWatch(random: Random): Case {
  const sample = random.pick(samples)
  const steps: Step[] = [...homeOf(sample), { ...get(sample.collection), save: { old: 'metadata.resourceVersion' } }]
  const writes = random.below(6)
  for (let index = 0; index < writes; index++) steps.push(writeOf(sample, random))
  steps.push({ ...get(sample.collection), save: { rv: 'metadata.resourceVersion' } })
  for (let more = 1 + random.below(2); more > 0; more--) steps.push(watchOf(sample, random))
  for (let more = 1 + random.below(5); more > 0; more--) steps.push(writeOf(sample, random))
  if (random.chance(0.5)) steps.push(watchOf(sample, random))
  steps.push(post(sample.collection, objectOf(sample, { name: 'end', labels: { a: '1' } })))
  return { kind: sample.kind, operation: 'watch', what: `${writes} writes before`, steps }
}

function watchOf(sample: Sample, random: Random): Step {
  const asked = query(random, options, 4)
  const { collection } = sample
  const roll = random.next()
  const watched =
    roll < 0.9
      ? `${collection}${asked || '?'}&watch=${random.pick(['true', '1', 'true', ''])}`.replace('?&', '?')
      : roll < 0.97
        ? `${collection.replace('/namespaces', '/watch/namespaces')}${random.pick(['', '/a'])}${asked}`
        : `${collection}/a${asked || '?'}&watch=true`.replace('?&', '?')
  const step = inSomeForm(random, get(watched))
  return { ...step, ...(step.accept === protobuf && { accept: 'application/json' }), stream: true }
}

const labelChanges: readonly unknown[] = [{ a: '1' }, { a: '2' }, { a: null }, { b: 'x' }, { a: '1', b: null }]

/** Several of these fail, when the object is or is not there; that is compared as well. */
function writeOf(sample: Sample, random: Random): Step {
  const { collection, change } = sample
  const name = random.pick(['a', 'a', 'b'])
  const object = `${collection}/${name}`
  switch (
    random.pick(['create', 'create', 'create', 'labels', 'labels', 'change', 'delete', 'apply', 'nothing'] as const)
  ) {
    case 'create':
      return post(collection, objectOf(sample, { name, labels: random.pick([{}, { a: '1' }, { a: '2' }]) }))
    case 'labels':
      return patch('merge', object, { metadata: { labels: random.pick(labelChanges) } })
    case 'change':
      return patch('merge', object, fieldPatch(change[0], random.pick(change[1])))
    case 'delete':
      return remove(object)
    case 'apply':
      return patch('apply', `${object}?fieldManager=m&force=true`, objectOf(sample, { name, labels: { a: '1' } }))
    case 'nothing':
      return patch('merge', object, {})
  }
}
