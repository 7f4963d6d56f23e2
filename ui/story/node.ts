import type { RecordedObject } from '../../shared/record/format.ts'
import { become, type Interval } from './interval.ts'
import { limits, type NodeStory, push } from './model.ts'
import { at, listAt, msOf, textAt } from './text.ts'

/** Bounds the kinds of pressures and taints of a node. */
const maxKinds = 50

export const newNode = (uid: string, name: string): NodeStory => ({
  ...{ uid, name, states: [], pressures: new Map(), taints: new Map(), marks: [] },
})

export function seeNode(node: NodeStory, object: RecordedObject, atMs: number, isNews: boolean): void {
  node.object = object
  delete node.goneMs
  const conditions = listAt(object, 'status', 'conditions')
  const ready = conditions.find((condition) => at(condition, 'type') === 'Ready')
  const status = at(ready, 'status')
  const state = status === 'True' ? 'Ready' : status === 'False' ? 'NotReady' : 'Lost'
  const since = isNews ? atMs : Math.min(msOf(at(ready, 'lastTransitionTime')) ?? atMs, atMs)
  const before = node.states.at(-1)?.value
  become(node.states, state, since)
  if (state !== before && state !== 'Ready' && ready)
    push(node.marks, { atMs: since, kind: 'warning', text: `${state}: ${textAt(ready, 'message')}` }, limits.marks)
  const pressures = conditions.filter((each) => at(each, 'type') !== 'Ready' && at(each, 'status') === 'True')
  seeKinds(node.pressures, new Set(pressures.map((each) => textAt(each, 'type'))), atMs)
  const taints = listAt(object, 'spec', 'taints').map((each) => `${textAt(each, 'key')}:${textAt(each, 'effect')}`)
  seeKinds(node.taints, new Set(taints), atMs)
}

export function nodeGone(node: NodeStory, atMs: number): void {
  node.goneMs = atMs
  become(node.states, undefined, atMs)
  for (const kinds of [node.pressures, node.taints]) seeKinds(kinds, new Set(), atMs)
}

function seeKinds(kinds: Map<string, Interval[]>, present: Set<string>, atMs: number): void {
  for (const name of present) if (!kinds.has(name) && kinds.size < maxKinds) kinds.set(name, [])
  for (const [name, intervals] of kinds) become(intervals, present.has(name) ? name : undefined, atMs)
}
