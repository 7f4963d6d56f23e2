import t from 'tap'
import { readKubeletConfig } from '../../kubelet/config.ts'

t.test('a kubelet with a supervisor gets its variables only from there', async (t) => {
  process.env.KUBESTAGE_PORT = '7443'
  t.teardown(() => {
    delete process.env.KUBESTAGE_PORT
  })
  const portOf = async (...args: string[]): Promise<number> => (await readKubeletConfig(args)).values.port
  t.equal(await portOf('--supervised'), 0, "the cluster's port is not the kubelet's")
  t.equal(await portOf(), 7443, 'one that runs alone is told by variables')
})

t.test('values that do not fit together', async (t) => {
  const mistakes: [args: string[], message: RegExp][] = [
    [['--eviction-soft=memory.available=1Gi'], /^evictionSoft needs a grace period for memory.available: /],
    [
      ['--shutdown-grace-period=5s', '--shutdown-grace-period-critical-pods=10s'],
      /^shutdownGracePeriodCriticalPods \(10s\) is a part of shutdownGracePeriod \(5s\), /,
    ],
    [['--node-name=Bad_Name!'], /^--node-name must be lower case letters, .*, not "Bad_Name!"$/],
  ]
  for (const [args, message] of mistakes) await t.rejects(readKubeletConfig(args), { name: 'UsageError', message })
})
