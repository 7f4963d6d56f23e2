import t from 'tap'
import { aggregated } from '../../controllers/clusterrole-aggregation.ts'

type ClusterRole = Parameters<typeof aggregated>[0]

const rule = (...resources: string[]) => ({ apiGroups: [''], resources, verbs: ['get'] })
const role = (name: string, labels: Record<string, string>, ...rules: ReturnType<typeof rule>[]): ClusterRole => ({
  metadata: { name, labels },
  rules,
})

t.test('a role gathers each rule once, by the names of the roles', async (t) => {
  const whole: ClusterRole = {
    ...role('whole', { part: 'yes' }),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: 'yes' } }, { matchLabels: { more: 'yes' } }] },
  }
  const parts = [
    role('b', { part: 'yes' }, rule('pods'), rule('nodes')),
    role('a', { part: 'yes' }, rule('secrets')),
    role('c', { more: 'yes' }, rule('nodes'), rule('events')),
    role('d', { part: 'no' }, rule('leases')),
    whole,
  ]
  t.strictSame(aggregated(whole, parts), [rule('secrets'), rule('pods'), rule('nodes'), rule('events')])
  t.strictSame(aggregated({ ...whole, aggregationRule: undefined }, parts), [])
})
