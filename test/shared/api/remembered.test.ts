import t from 'tap'
import { remembered } from '../../../shared/api/json/remembered.ts'

t.test('what was found is kept for frozen values alone', async (t) => {
  let calls = 0
  const lengthOf = remembered((list: number[]) => {
    calls++
    return list.length
  })
  const frozen = [1, 2] as number[]
  Object.freeze(frozen)
  t.equal(lengthOf(frozen) + lengthOf(frozen), 4)
  t.equal(calls, 1)
  const growing = [1]
  t.equal(lengthOf(growing), 1)
  growing.push(2)
  t.equal(lengthOf(growing), 2, 'who may change is looked at each time')
  t.equal(lengthOf(Object.freeze([]) as unknown as number[]), 0)
})
