import t from 'tap'
import type { Event, Seen } from './history.ts'
import { checkFromState, difference, selected, selections } from './selection.ts'

const [notOdd] = selections as [(typeof selections)[number]]
const seen = (resourceVersion: number, value: string): Seen => ({
  uid: 'u',
  resourceVersion,
  value,
  hasFinalizer: false,
  isDeleting: false,
})
const event = (type: Event['type'], key: string, resourceVersion: number, value: string): Event => ({
  type,
  namespace: 'n',
  key,
  object: seen(resourceVersion, value),
})
const events = [
  event('ADDED', 'a', 1, 'a-0'),
  event('ADDED', 'b', 2, 'b-1'),
  event('MODIFIED', 'a', 3, 'a-3'),
  event('MODIFIED', 'b', 4, 'b-4'),
  event('MODIFIED', 'b', 5, 'b-6'),
  event('DELETED', 'a', 6, 'a-3'),
  event('DELETED', 'b', 7, 'b-6'),
]
const wanted = [
  event('ADDED', 'a', 1, 'a-0'),
  event('DELETED', 'a', 3, 'a-0'),
  event('ADDED', 'b', 4, 'b-4'),
  event('MODIFIED', 'b', 5, 'b-6'),
  event('DELETED', 'b', 7, 'b-6'),
]

t.test('what enters, stays in and leaves a selection', async (t) => {
  t.same(selected(events, new Map(), notOdd), wanted)
  t.equal(difference(wanted, wanted), undefined)
  t.equal(difference(wanted, wanted.slice(1)), 'tells DELETED a of 3 (a-0) instead of ADDED a of 1 (a-0)')
  t.equal(difference(wanted, wanted.slice(0, 4)), 'tells nothing instead of DELETED b of 7 (b-6)')
})

t.test('a watch that begins with the state', async (t) => {
  const history = { events, state: new Map(), selection: notOdd }
  const initial = [event('ADDED', 'b', 4, 'b-4')]
  t.equal(checkFromState({ initial, later: wanted.slice(3) }, history), undefined)
  t.equal(checkFromState({ initial, later: [], at: 4 }, history), undefined, 'a stream that was cut')
  t.match(checkFromState({ initial, later: [], at: 5 }, history), /the state at no revision \(the server says 5\)/)
  t.match(checkFromState({ initial, later: wanted.slice(4) }, history), /tells DELETED b of 7 .* instead of MODIFIED b/)
  t.match(checkFromState({ initial: [...initial, ...initial], later: [] }, history), /twice/)
  const old = [event('ADDED', 'a', 1, 'a-0'), ...initial]
  t.match(checkFromState({ initial: old, later: [] }, history), /the state at no revision/)
})
