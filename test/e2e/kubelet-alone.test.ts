/** A kubelet without a supervisor, which starts a shim of its own: nothing of it is left when it has ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { nodeIsReady } from '../../cluster/supervisor/node-ready.ts'
import type { Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { programOf, startTestCluster, type TestCluster } from '../harness/cluster.ts'
import { killIfThere, processesWith } from '../harness/processes.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const nodeName = 'node-1'

/** Takes the place of the cluster's own kubelet, which is not there. */
async function startKubelet(t: Test, { stateDir, client }: TestCluster, rootDir: string): Promise<ChildProcess> {
  mkdirSync(rootDir, { recursive: true })
  const config = join(rootDir, 'config.json')
  const pki = (file: string): string => join(stateDir, 'pki', file)
  const settings = {
    rootDir,
    nodeName,
    kubeconfig: join(stateDir, 'kubeconfig'),
    tlsCertFile: pki('apiserver.crt'),
    tlsPrivateKeyFile: pki('apiserver.key'),
    clientCaFile: pki('ca.crt'),
    crashLoopBackOffInitial: '1s',
    crashLoopBackOffMax: '1s',
  }
  writeFileSync(config, JSON.stringify(settings))
  const logFile = join(rootDir, 'log')
  const log = openSync(logFile, 'a')
  const kubelet = spawn(process.execPath, [programOf('kubelet'), '--config', config], { stdio: ['ignore', log, log] })
  closeSync(log)
  t.teardown(() => {
    for (const pid of processesWith(rootDir)) killIfThere(pid)
  })
  await until(() => kubelet.exitCode !== null || readFileSync(logFile, 'utf8').includes('"ready"'), {
    what: `the kubelet to be ready: ${logFile}`,
  })
  await nodeIsReady({ client, clock: realClock, nodeName, timeoutMs: 60_000, logFile })
  return kubelet
}

t.test('a kubelet alone', async (t) => {
  const cluster = await startTestCluster(t, '--kubelet=false')
  const { client, stateDir } = cluster
  const restarts = async (name: string): Promise<number> =>
    (await client.get<Pod>(pods, { namespace, name })).status?.containerStatuses?.[0]?.restartCount ?? 0
  const create = (name: string) =>
    client.create<Pod>(
      pods,
      {
        metadata: { name },
        spec: {
          nodeName,
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'c', image: 'busybox:1.37', command: ['sh', '-c', 'exit 1'] }],
        },
      },
      { namespace },
    )

  t.test('that ends by TERM while pods crash-loop takes its shim along', async (t) => {
    for (const round of [1, 2, 3]) {
      const rootDir = join(stateDir, `alone-${round}`)
      const kubelet = await startKubelet(t, cluster, rootDir)
      const names = ['a', 'b', 'c'].map((name) => `${name}-${round}`)
      for (const name of names) await create(name)
      await until(async () => (await restarts(names[0]!)) >= round, { what: 'a pod to crash again' })
      kubelet.kill('SIGTERM')
      await once(kubelet, 'exit')
      await until(() => processesWith(join(rootDir, 'runtime')).length === 0, {
        what: 'the shim to end',
        timeoutMs: 20_000,
      })
      t.same(processesWith(rootDir), [], `round ${round}`)
    }
  })

  t.test('whose shim was killed starts another', async (t) => {
    const rootDir = join(stateDir, 'alone-shim')
    const kubelet = await startKubelet(t, cluster, rootDir)
    const shim = (): number => Number(readFileSync(join(rootDir, 'runtime', 'shim.pid'), 'utf8'))
    const first = shim()
    for (const pid of processesWith(join(rootDir, 'runtime'))) killIfThere(pid)
    await create('after')
    await until(async () => (await restarts('after')) >= 1, { what: 'a pod to run with another shim' })
    t.not(shim(), first)
    kubelet.kill('SIGTERM')
    await once(kubelet, 'exit')
    await until(() => processesWith(rootDir).length === 0, { what: 'the second shim to end' })
  })
})
