import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { Child } from '../../cluster/supervisor/child.ts'
import { kubeletLog, kubeletSpec, shimSpec } from '../../cluster/supervisor/child-specs.ts'
import { nodeIsReady } from '../../cluster/supervisor/node-ready.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import { kubeconfig } from '../../shared/pki/kubeconfig-file.ts'
import type { TestCluster } from './cluster.ts'

/** One more kubelet of the same cluster, set up as its first one; resolves when its node is ready, and ends with the test. */
export async function addNode(t: Test, cluster: TestCluster, nodeName: string): Promise<void> {
  const { stateDir, access, client } = cluster
  const root = join(stateDir, nodeName)
  const place = { kubelet: root, logs: root }
  const directory = join(root, 'pki')
  mkdirSync(directory, { recursive: true })
  for (const file of ['ca.crt', 'ca.key']) copyFileSync(join(stateDir, 'pki', file), join(directory, file))
  const serviceAddress = '10.96.0.1'
  const pki = ensureClusterPki({ directory, nowMs: realClock.now(), host: '127.0.0.1', serviceAddress, nodeName })
  const write = (name: string, content: object): string => {
    writeFileSync(join(root, name), JSON.stringify(content))
    return join(root, name)
  }
  const user = pki.kubeletClient
  void pki.kubeletServer // its files are there from now on
  write('config.json', {
    ...JSON.parse(readFileSync(join(stateDir, 'kubelet', 'config.json'), 'utf8')),
    nodeName,
    rootDir: root,
    staticPodPath: '',
    kubeconfig: write('kubeconfig', kubeconfig({ name: nodeName, server: access.server, ca: pki.ca.cert, user })),
    tlsCertFile: join(directory, 'kubelet.crt'),
    tlsPrivateKeyFile: join(directory, 'kubelet.key'),
  })
  const shim = new Child(shimSpec(place))
  const kubelet = new Child(kubeletSpec(place))
  kubelet.begin()
  t.teardown(async () => {
    kubelet.signal('SIGTERM')
    await kubelet.ended
    shim.release()
    await shim.ended
  })
  await nodeIsReady({ client, clock: realClock, nodeName, timeoutMs: 60_000, logFile: kubeletLog(place) })
}
