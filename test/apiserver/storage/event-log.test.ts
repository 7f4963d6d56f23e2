import { queryObjects } from 'node:v8'
import t from 'tap'
import { EventLog } from '../../../apiserver/storage/event-log.ts'

class Event {
  readonly revision: number

  constructor(revision: number) {
    this.revision = revision
  }
}

t.test('forgotten events leave memory at once', async (t) => {
  const log = new EventLog<Event>({ events: 10, bytes: 1_000 }, 0, () => 1)
  for (let revision = 1; revision <= 500; revision++) log.append(new Event(revision))
  t.equal(queryObjects(Event, { format: 'count' }), 10)
  t.same(
    log.after(495).map(({ revision }) => revision),
    [496, 497, 498, 499, 500],
  )
  log.compact(497)
  t.equal(queryObjects(Event, { format: 'count' }), 3)
})
