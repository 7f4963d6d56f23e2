/**
 * Attacks on a cluster with a second API server on the same etcd: pods of a service account that may do no more than
 * create them, its requests, and those of an administrator. Each API server answers through all of them.
 */
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { etcdPrograms, noEtcd } from '../harness/etcd.ts'
import { skipOrFail } from '../harness/skip.ts'
import { reached, serversOf } from './canaries.ts'
import { carryOut, prepare, requestAttacks } from './request-attacks.ts'
import { withstandPods } from './withstand.ts'

/** ATTACKS=all tries each; otherwise of each campaign the first, the fourth, the seventh and so on. */
const step = process.env.ATTACKS === 'all' ? 1 : 3

t.setTimeout(1_200_000)

t.test('attacks on two API servers harm nobody else', async (t) => {
  if (etcdPrograms().length === 0) return skipOrFail(t, noEtcd)
  const cluster = await startTestCluster(t, '--storage=etcd', '--apiservers=2')
  const [first, second] = serversOf(cluster)
  if (!second) return t.fail('there is no second API server')
  const withstood = await withstandPods(t, cluster)
  if (!withstood) return
  const { attacker, state, before } = withstood
  const server = reached(first!, cluster)
  await prepare(server)
  for (const campaign of requestAttacks) {
    await t.test(`${campaign.what}, by ${campaign.who}`, async (t) => {
      for (const attack of campaign.attacks.filter((_, index) => index % step === 0)) {
        await carryOut(attack, campaign, { server, token: attacker.token })
        t.same(await state(), before, attack.name)
      }
    })
  }
})
