/** Lists of a few objects, with selectors, limits, revisions and forms of answers. */
import type { Random } from '../../../test/fuzz/random.ts'
import type { Case, Step } from '../case.ts'
import { get, inSomeForm, post, query, remove } from '../steps.ts'
import { homeOf, objectOf, type Sample, samples } from './samples.ts'

// biome-ignore format: a table
export const labelSelectors = [
  'a=1', 'a==1', 'a!=1', 'a', '!a', 'a in (1,2)', 'a notin (1)', 'a=1,b=2', 'a in (1),!b', 'a>0', 'a<2', 'a>x', 'a=',
  'a!=', '', ',', 'a=1,', 'a in ()', 'a in (1', 'a=1=2', '=', 'x y', '-a=1', 'a=..', 'a/b=1', '/b', 'a in(1)',
  ' a = 1 ', 'a in (,1)', 'A', 'a notin ()', 'b', '!b', 'b=2', 'a in (2,1),b', 'a!=1,a',
]

// biome-ignore format: a table
export const fieldSelectors = [
  'metadata.name=a', 'metadata.name!=a', 'metadata.name==a', 'metadata.name=a,metadata.name=b', 'metadata.name=',
  'metadata.namespace={{name}}', 'metadata.namespace=x', 'metadata.namespace!={{name}}', 'status.phase=Pending',
  'status.phase!=Pending', 'spec.nodeName=', 'spec.restartPolicy=Always', 'metadata.uid=x', 'a=b', 'metadata.name',
  '', ',', 'metadata.name=a\\,b', 'metadata.name=a\\x', '=', 'metadata.labels=1', 'spec.type=ClusterIP',
  'type=Opaque', 'status.replicas=0', 'involvedObject.name=p', 'reason=R', 'status.successful=0', 'metadata.name>a',
  'spec.serviceAccountName=', 'status.podIP=', 'spec.unschedulable=false', 'spec.clusterIP!=None',
]

const options = {
  labelSelector: labelSelectors,
  fieldSelector: fieldSelectors,
  limit: ['1', '2', '3', '0', '-1', 'x', '', '1.5', '500', '9223372036854775808', ' 1'],
  resourceVersion: ['0', '', 'x', '-1', '{{rv}}', '{{old}}', '99999999999', '1.5', '{{rv}}0'],
  resourceVersionMatch: ['Exact', 'NotOlderThan', 'x', ''],
  continue: ['{{token}}', 'x', '', 'e30'],
  timeoutSeconds: ['1', '0', '-1', 'x', ''],
  pretty: ['true', 'false', 'x', ''],
  watch: ['0', 'false'],
  allowWatchBookmarks: ['true', 'x', ''],
  sendInitialEvents: ['true', 'false', 'x'],
  includeObject: ['None', 'Metadata', 'Object', 'x', ''],
  unknown: ['1'],
}

const labels: readonly Record<string, string>[] = [{}, { a: '1' }, { a: '2' }, { a: '1', b: '2' }, { b: '' }]

/** Makes some objects and asks for lists of them. */
export function makeList(random: Random): Case {
  const sample = random.pick(samples)
  const names = ['a', 'b', 'c', 'd', 'a.b'].slice(0, random.pick([0, 2, 3, 4, 5]))
  const steps: Step[] = [
    ...homeOf(sample),
    { ...get(sample.collection), save: { old: 'metadata.resourceVersion' } },
    ...names.map((name) => post(sample.collection, objectOf(sample, { name, labels: random.pick(labels) }))),
    { ...get(`${sample.collection}?limit=${random.pick([1, 2])}`), save: tokens },
  ]
  if (random.chance(0.3) && names.length > 0) steps.push(remove(`${sample.collection}/${random.pick(names)}`))
  for (let more = 1 + random.below(6); more > 0; more--) steps.push(listOf(sample, random))
  return { kind: sample.kind, operation: 'list', what: `${names.length} objects`, steps }
}

const tokens = { rv: 'metadata.resourceVersion', token: 'metadata.continue' }

function listOf(sample: Sample, random: Random): Step {
  const asked = query(random, options)
  // Elsewhere are objects of other cases.
  const path = random.chance(0.1)
    ? `${sample.everywhere}${asked || '?'}&fieldSelector=metadata.namespace%3D{{name}}`.replace('?&', '?')
    : `${sample.collection}${asked}`
  return inSomeForm(random, get(path))
}
