import t from 'tap'
import { checkHistory, checkReplay } from './checks.ts'
import type { Event, Gap, List, Operation, Seen, Verb } from './history.ts'

const event = (resourceVersion: number): Event => {
  const object = { uid: 'u', resourceVersion, value: `v${resourceVersion}`, hasFinalizer: false, isDeleting: false }
  return { type: 'MODIFIED', namespace: 'n', key: 'k', object }
}
const told = [1, 2, 3, 4].map(event)
const [, second, third, fourth] = told as [Event, Event, Event, Event]

t.test('a watch from a revision seen before tells what was told after it', async (t) => {
  t.same(checkReplay(told, 2, [third, fourth]), [])
  t.same(checkReplay(told, 4, []), [])
})

const wrong: Record<string, [Event[], string]> = {
  'a gap': [[fourth], 'MODIFIED k of 4 instead of MODIFIED k of 3'],
  'an end too early': [[third], 'nothing instead of MODIFIED k of 4'],
  'what was seen before': [[second, third, fourth], 'MODIFIED k of 2 instead of MODIFIED k of 3'],
  'an event twice': [[third, third, fourth], 'MODIFIED k of 3 instead of MODIFIED k of 4'],
  'another order': [[fourth, third], 'MODIFIED k of 4 instead of MODIFIED k of 3'],
  'one too many': [[third, fourth, event(5)], 'MODIFIED k of 5 instead of nothing'],
  'another type': [[{ ...third, type: 'DELETED' }, fourth], 'DELETED k of 3 instead of MODIFIED k of 3'],
}
for (const [name, [replay, what]] of Object.entries(wrong)) {
  t.test(`${name} is found`, async (t) => {
    t.same(checkReplay(told, 2, replay), [`a watch from 2 tells ${what}`])
  })
}

const seen = (resourceVersion: number, value = `v${resourceVersion}`): Seen => ({
  uid: 'u',
  resourceVersion,
  value,
  hasFinalizer: false,
  isDeleting: false,
})
const wrote = (verb: Verb, key: string, resourceVersion: number, call: number): Operation => ({
  client: 0,
  verb,
  key,
  call,
  return: call + 5,
  input: { value: `v${resourceVersion}` },
  output: { status: 200, object: seen(resourceVersion) },
})
const tells = (type: Event['type'], key: string, resourceVersion: number): Event => ({
  type,
  namespace: 'n',
  key,
  object: seen(resourceVersion),
})
const listed = (resourceVersion: number, items: Record<string, Seen>, call = 1000): List => ({
  client: 0,
  server: 'server-1',
  namespace: 'n',
  call,
  return: call + 5,
  resourceVersion,
  items: new Map(Object.entries(items)),
})
/** a is created at 1, changed at 2 and 4; b is created at 3. */
const good = {
  operations: [
    wrote('create', 'a', 1, 0),
    wrote('update', 'a', 2, 10),
    wrote('create', 'b', 3, 20),
    wrote('update', 'a', 4, 30),
  ],
  events: [tells('ADDED', 'a', 1), tells('MODIFIED', 'a', 2), tells('ADDED', 'b', 3), tells('MODIFIED', 'a', 4)],
  lists: [listed(3, { a: seen(2), b: seen(3) }, 26), listed(4, { a: seen(4), b: seen(3) })],
}
interface Story {
  operations: Operation[]
  events: Event[]
  lists: List[]
  gaps?: Gap[]
  /** Of a second watch. Default: the same. */
  others?: Event[]
}
const check = ({ operations, events, lists, gaps = [], others = events }: Story): string[] =>
  checkHistory({ namespace: 'n', operations, lists }, [
    { events, gaps },
    { events: others, gaps },
  ])

t.test('nothing is wrong with a good history, nor with one in which a watch listed again', async (t) => {
  t.same(check(good), [])
  const gap = {
    after: 1,
    to: 3,
    state: new Map([
      ['n/a', seen(2)],
      ['n/b', seen(3)],
      ['other/a', seen(9)],
    ]),
  }
  const [first, , , last] = good.events as [Event, Event, Event, Event]
  t.same(check({ ...good, events: [first, last], gaps: [gap] }), [])
  t.same(check({ ...good, events: [last], gaps: [{ ...gap, after: 0 }] }), [], 'from the beginning')
})

const bad: Record<string, [Partial<Story>, RegExp]> = {
  'a write without an event': [{ events: good.events.slice(0, 3) }, /no event of the acknowledged update of v4 at 4/],
  'an event that one watch lacks': [{ others: good.events.toSpliced(1, 1) }, /watch 1 lacks MODIFIED a of 2/],
  'two events of one revision': [{ others: good.events.with(2, tells('ADDED', 'c', 3)) }, /two events at 3/],
  'an object that is added twice': [
    { events: good.events.with(1, tells('ADDED', 'a', 2)) },
    /ADDED a at 2 of an object that is there/,
  ],
  'an event of what was never added': [
    { events: good.events.with(2, tells('MODIFIED', 'b', 3)) },
    /MODIFIED b at 3 of an object that is absent/,
  ],
  'half an object': [
    { events: good.events.with(3, { ...tells('MODIFIED', 'a', 4), object: seen(4, 'half: {}') }) },
    /is half/,
  ],
  'a value that was there before': [
    { events: good.events.with(3, { ...tells('MODIFIED', 'a', 4), object: seen(4, 'v1') }) },
    /shows v1 a second time/,
  ],
  'a value that no client wrote': [
    { events: good.events.with(3, { ...tells('MODIFIED', 'a', 4), object: seen(4, 'x') }) },
    /shows x, which no client wrote/,
  ],
  'a revision that goes back': [
    { operations: good.operations.with(3, { ...wrote('update', 'a', 4, 30), call: -20, return: -10 }) },
    /create a has revision 1 after update a had 4/,
  ],
  'a revision that is used twice': [
    { operations: [...good.operations, wrote('create', 'c', 4, 40)] },
    /create c and update a have revision 4/,
  ],
  'a list that is stale': [
    { lists: [listed(3, { a: seen(2), b: seen(3) }, 100)] },
    /list of server-1 has revision 3 after update a had 4/,
  ],
  'a list that no state equals': [
    { lists: [listed(4, { a: seen(2), b: seen(3) })] },
    /at 4 shows a as v2 of 2, events as v4 of 4/,
  ],
  'a list that lacks an object': [{ lists: [listed(4, { a: seen(4) })] }, /shows b as absent/],
  'an object with a finalizer that is deleted at once': [
    {
      events: [
        ...good.events.slice(0, 3),
        { ...tells('MODIFIED', 'a', 4), object: { ...seen(4), hasFinalizer: true } },
        tells('DELETED', 'a', 5),
      ],
    },
    /DELETED a at 5.*whose finalizer nothing has removed/,
  ],
  'a write that is lost where a watch listed again': [
    {
      events: good.events.slice(0, 2),
      gaps: [
        {
          after: 2,
          to: 4,
          state: new Map([
            ['n/a', seen(2)],
            ['n/b', seen(3)],
          ]),
        },
      ],
      lists: [listed(5, { a: seen(4), b: seen(3) })],
    },
    /the list of server-1 at 5 shows a as v4 of 4, events as v2 of 2/,
  ],
  'a list again of what has changed long ago': [
    {
      events: good.events.toSpliced(2, 1),
      gaps: [
        {
          after: 2,
          to: 3,
          state: new Map([
            ['n/a', seen(1)],
            ['n/b', seen(3)],
          ]),
        },
      ],
    },
    /a of 1 in the list at 3 has changed before 2/,
  ],
}
for (const [name, [story, what]] of Object.entries(bad)) {
  t.test(`${name} is found`, async (t) => {
    t.match(check({ ...good, ...story }).join('\n'), what)
  })
}
