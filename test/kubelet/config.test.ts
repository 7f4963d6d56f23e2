import t from 'tap'
import { readKubeletConfig } from '../../kubelet/config.ts'

t.test('a kubelet with a supervisor hears of its variables from nobody else', async (t) => {
  process.env.KUBESTAGE_PORT = '7443'
  t.teardown(() => {
    delete process.env.KUBESTAGE_PORT
  })
  const portOf = async (...args: string[]): Promise<number> => (await readKubeletConfig(args)).values.port
  t.equal(await portOf('--supervised'), 0, "the cluster's port is not the kubelet's")
  t.equal(await portOf(), 7443, 'one that runs alone is told by variables')
})
