import t from 'tap'
import { checkReplay } from './checks.ts'
import type { Event } from './history.ts'

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
