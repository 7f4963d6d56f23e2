import t from 'tap'
import { Interned } from '../../../shared/api/json/interned.ts'

t.test('equal values are one, as long as they are remembered', async (t) => {
  const interned = new Interned<object>(2)
  const first = interned.of({ a: [1] })
  t.equal(interned.of({ a: [1] }), first)
  t.not(interned.of({ a: [2] }), first)
  interned.of({ a: [3] })
  t.not(interned.of({ a: [1] }), first, 'the oldest is forgotten')
})
