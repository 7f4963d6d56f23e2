/** With `--network pod` pods reach addresses outside of the cluster: here those of this machine. */
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { promisify } from 'node:util'
import t from 'tap'
import type { Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { ownPodRange } from '../harness/own-pod-range.ts'
import { podNetworkTools } from '../harness/pod-network-tools.ts'
import { isReady, podOf } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const SIZE = 5_000_000
/** Sends much, closes its half, and prints how much came back, or why not. */
const asks = (host: string, port: number, size = SIZE): string => `
let count = 0
const socket = require('net').connect(${port}, '${host}', () => socket.end(Buffer.alloc(${size})))
socket.setTimeout(3000, () => socket.destroy(Object.assign(new Error(), { code: 'timeout' })))
socket.on('data', (part) => { count += part.length }).on('error', ({ code }) => console.log(code)).on('end', () => console.log(count))`

t.test('the way out', async (t) => {
  const kubectl = await podNetworkTools(t)
  if (!kubectl) return
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  const outside = all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address
  if (!outside) return skipOrFail(t, 'this machine has no address but its loopback')
  const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(0, outside)
  await once(echo, 'listening')
  t.teardown(() => echo.close())
  const { port } = echo.address() as AddressInfo

  const cluster = await startTestCluster(t, '--network=pod', `--cluster-cidr=${ownPodRange}`)
  const config = `--kubeconfig=${cluster.kubeconfig}`
  const ask = async (...words: Parameters<typeof asks>): Promise<string> => {
    const args = [config, 'exec', 'client', '--', process.execPath, '-e', asks(...words)]
    return (await promisify(execFile)(kubectl.file, args, { timeout: 60_000 })).stdout.trim()
  }
  const ref = { namespace: 'default', name: 'client' }
  await cluster.client.create(pods, podOf({ name: 'client', command: ['sleep', '1000'] }), { namespace: 'default' })
  await until(async () => isReady(await cluster.client.get<Pod>(pods, ref)), { what: 'the pod to be ready' })

  t.equal(await until(() => ask(outside, port), { what: 'an answer' }), String(SIZE), 'bytes go and come back')
  echo.close()
  t.equal(await ask(outside, port, 1), 'ECONNRESET', 'a refused connection is reset')
  t.equal(await ask('10.96.200.200', 80, 1), 'ENETUNREACH', 'a cluster IP of no Service')
  const except = { ipBlock: { cidr: '0.0.0.0/0', except: [`${outside}/32`] } }
  const spec = { podSelector: {}, policyTypes: ['Egress'], egress: [{ to: [except] }] }
  const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: 'inside' }, spec }
  execFileSync(kubectl.file, [config, 'apply', '-f', '-'], { input: JSON.stringify(policy) })
  await until(async () => (await ask(outside, port, 1)) === 'timeout', { what: 'the policy to hold outside, too' })
})
