/** Attacks by a service account that may create pods, and no more; an administrator then deletes the attacker's pods. */
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { withstandPods } from './withstand.ts'

t.test('who may only create pods harms nobody else', async (t) => {
  const withstood = await withstandPods(t, await startTestCluster(t))
  t.same(withstood?.refused ?? [], [])
})
