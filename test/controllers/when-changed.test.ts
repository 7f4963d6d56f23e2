import t from 'tap'
import { whenChanged } from '../../controllers/pods/when-changed.ts'

t.test('Work is done after a change, after a failure and for a reason; else it rests', async (t) => {
  let change = (): void => {}
  let runs = 0
  let fails = false
  let hasReason = false
  const informer = {
    addHandler: ({ onUpdate }: { onUpdate(): void }) => {
      change = onUpdate
    },
  }
  const look = whenChanged(
    [informer],
    async () => {
      runs++
      if (fails) throw new Error('no server')
    },
    () => hasReason,
  )
  const ran = async (): Promise<number> => {
    runs = 0
    await look().catch(() => {})
    return runs
  }
  t.equal(await ran(), 1, 'the first time')
  t.equal(await ran(), 0)
  change()
  fails = true
  t.equal(await ran(), 1)
  fails = false
  t.equal(await ran(), 1, 'again after a failure')
  t.equal(await ran(), 0)
  hasReason = true
  t.equal(await ran(), 1)
})
