/** The command that `kubestage token create` prints, typed as it is on what could be another machine. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import os from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { admit } from '../../cli/join/admit.ts'
import joinProgram from '../../cli/join/index.ts'
import { NodeFolder } from '../../cli/join/node-folder.ts'
import type { Termination } from '../../shared/api/termination.ts'
import type { Node, Pod } from '../../shared/api/types.ts'
import { nodes, pods, terminations } from '../../shared/client/resources.ts'
import { resolveOptions } from '../../shared/config/resolve.ts'
import { layCable } from '../harness/cable.ts'
import { startCommand, startTestCluster } from '../harness/cluster.ts'
import { findKubectls, kubectlSays } from '../harness/kubectl.ts'
import { followPod, getText, isReady, podOf, politeScript } from '../harness/pods.ts'
import { killIfThere, processesWith } from '../harness/processes.ts'
import { startWitness } from '../harness/reasons.ts'
import { run } from '../harness/run.ts'
import { SecondMachine } from '../harness/second-machine.ts'
import { startTcpProxy } from '../harness/tcp-proxy.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
t.setTimeout(300_000)

const cable = await layCable(t)
const { name: place, net, near, far } = cable ?? { name: '', net: '', near: '', far: '' }
const cluster = await startTestCluster(t, ...(cable ? ['--host=0.0.0.0', `--tls-san=${near}`] : []))
const { client, kubeconfig, stateDir, access } = cluster
const { port } = new URL(access.server)
const here = `--state-dir=${stateDir}`
const kubectl = findKubectls().at(-1)
const hash = /--discovery-token-ca-cert-hash (\S+)/

async function joinCommand(t: Test, ...flags: string[]): Promise<string> {
  const command = startCommand(t, ['token', 'create', '--print-join-command', here, ...flags])
  await command.ended
  return command.stdout().trim()
}
const tokenIn = (command: string): string => /--token (\S+)/.exec(command)?.[1] ?? ''
const nodeNamed = (name: string): Promise<Node> => client.get<Node>(nodes, { name })
async function becomesReady(name: string): Promise<Node> {
  const ready = async (): Promise<Node | undefined> => {
    const node = await nodeNamed(name).catch(() => undefined)
    const isReady = node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
    return isReady ? node : undefined
  }
  return await until(ready, { what: `node ${name} to be ready` })
}
async function startPod(name: string, nodeName: string): Promise<Pod> {
  const pod = podOf({ name, command: ['sh', '-c', `echo works; ${politeScript}`], spec: { nodeName } })
  await client.create<Pod>(pods, pod, { namespace })
  const { until: untilPod } = await followPod(client, { namespace, name })
  return await untilPod(isReady, 'to be ready')
}

t.test('the printed command, typed literally, makes a node', { skip: !kubectl && 'no kubectl here' }, async (t) => {
  const machine = new SecondMachine(t)
  const name = os.hostname().toLowerCase()
  const says = (...args: string[]) => kubectlSays(t, kubectl!, kubeconfig, args)
  const printed = await joinCommand(t)
  // A cluster that is started in this folder would go by it.
  writeFileSync(join(machine.folder, 'kubestage.yaml'), 'nodeName: node-1\nport: 6443\n')
  const joining = machine.type(printed)
  await joining.printed(`Node ${name} has joined https://127.0.0.1:${port}`)
  await becomesReady(name)
  const state = join(machine.folder, '.kubestage-node')
  t.notMatch(readFileSync(join(state, 'kubeconfig'), 'utf8'), tokenIn(printed), 'the token is not kept')

  await says('cordon', 'node-1')
  t.teardown(() => says('uncordon', 'node-1'))
  const told = await startWitness('web', { client, folder: machine.folder })
  t.equal((await client.get<Pod>(pods, { namespace, name: 'web' })).spec.nodeName, name, 'it is scheduled there')
  await startPod('talks', name)
  await until(async () => (await says('logs', 'talks')) === 'works\n', { what: 'its log' })
  t.equal(await says('exec', 'talks', '--', 'echo', 'there'), 'there\n')
  writeFileSync(join(machine.folder, 'letter'), 'to another machine')
  await says('cp', join(machine.folder, 'letter'), 'talks:/tmp/letter')
  t.equal(await says('exec', 'talks', '--', 'cat', '/tmp/letter'), 'to another machine')
  t.equal(await forwarded(t, 'talks'), 'through the tunnel')

  await client.delete(pods, { namespace, name: 'web' }, { reason: 'Decommissioned' })
  const record = await until(
    async () => (await client.list<Termination>(terminations, { namespace, fieldSelector: 'podName=web' })).items[0],
    { what: 'its record' },
  )
  t.equal(told().split('\n')[0], 'Decommissioned', 'the reason reaches the hook')
  t.match(record, { reason: 'Decommissioned', nodeName: name })
  const counted = startCommand(t, ['terminations', here])
  t.equal(await counted.ended, 0)
  t.match(counted.output(), /Decommissioned +1/)
  t.match(await says('drain', name, '--ignore-daemonsets', '--force'), 'drained')

  // The token is deleted: the node has its own certificate. A kubelet that was killed finds its containers again.
  t.match(await startCommand(t, ['token', 'delete', tokenIn(printed), here]).ended, 0)
  await says('uncordon', name)
  await startPod('stays', name)
  process.kill(joining.pid, 'SIGKILL')
  await joining.ended
  const again = machine.type('kubestage join --detach')
  t.equal(await again.ended, 0, again.output())
  t.match(again.output(), /^The node runs \(process \d+\); kubestage leave ends it\.\n$/)
  await becomesReady(name)
  t.equal(await says('exec', 'stays', '--', 'echo', 'on'), 'on\n')
  t.match(await client.get<Pod>(pods, { namespace, name: 'stays' }), {
    status: { containerStatuses: [{ restartCount: 0 }] },
  })
  t.match(await machine.run('kubestage join'), {
    code: 1,
    output:
      /already running with state folder \.kubestage-node \(process \d+\); stop it with kubestage down --state-dir/,
  })

  const left = await machine.run(`kubestage leave --kubeconfig ${kubeconfig}`)
  t.match(left, { code: 0, output: `Node ${name} has left.\n` })
  t.match((await client.get<Pod>(pods, { namespace, name: 'stays' })).status, { phase: 'Succeeded' }, 'in order')
  await t.rejects(nodeNamed(name), { code: 404 })
  t.notOk(existsSync(state), 'certificates and files are gone')
  await until(() => processesWith(state).length === 0, { what: 'the processes to be gone' })
  t.match(await machine.run('kubestage leave'), {
    code: 1,
    output: /^kubestage: no node has joined from \.kubestage-node/,
  })
})

t.test('what is wrong is one sentence, and leaves nothing', async (t) => {
  const machine = new SecondMachine(t)
  const printed = await joinCommand(t)
  const token = tokenIn(printed)
  const id = token.slice(0, 6)
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await until(() => taken.listening, { what: 'a port to be taken' })
  const { port: takenPort } = taken.address() as { port: number }
  const signer = startCommand(t, ['token', 'create', 'signin.0123456789abcdef', '--usages=signing', here])
  const stranger = startCommand(t, [
    'token',
    'create',
    'strang.0123456789abcdef',
    '--groups=system:bootstrappers:x',
    here,
  ])
  t.same(await Promise.all([signer.ended, stranger.ended]), [0, 0])
  const wrong: [what: string, line: string, code: number, sentence: RegExp][] = [
    [
      'hash',
      printed.replace(/sha256:\w+/, `sha256:${'0'.repeat(64)}`),
      1,
      /the cluster's CA has the hash sha256:[0-9a-f]{64}, not the one/,
    ],
    ['no hash', printed.replace(hash, ''), 2, /--discovery-token-ca-cert-hash is missing/],
    [
      'short hash',
      printed.replace(/sha256:\w+/, 'sha256:00'),
      2,
      /the hash of a CA is sha256: and 64 hexadecimal digits, not "sha256:00"/,
    ],
    ['secret', printed.replace(token, `${id}.aaaaaaaaaaaaaaaa`), 1, /cluster-info is not signed by this token/],
    [
      'token',
      printed.replace(token, 'aaaaaa.aaaaaaaaaaaaaaaa'),
      1,
      /token "aaaaaa" is unknown to this cluster, expired, or not for signing; take the command/,
    ],
    ['no token', printed.replace(`--token ${token}`, ''), 2, /--token is missing/],
    [
      'for signing alone',
      printed.replace(token, 'signin.0123456789abcdef'),
      1,
      /token "signin" is not for authentication/,
    ],
    [
      'of other groups',
      printed.replace(token, 'strang.0123456789abcdef'),
      1,
      /the groups of token "strang" may not join nodes/,
    ],
    [
      'unreachable',
      printed.replace(`127.0.0.1:${port}`, '127.0.0.1:1'),
      1,
      /127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED.*does the cluster run/,
    ],
    [
      'address',
      printed.replace(`127.0.0.1:${port}`, '127.0.0.1'),
      2,
      /invalid API server address "127\.0\.0\.1"; use HOST:PORT/,
    ],
    [
      'live node',
      `${printed} --node-name node-1`,
      1,
      /node "node-1" already exists and is Ready: choose another name with --node-name/,
    ],
    ['nothing', 'kubestage join', 2, /no node has joined from .* yet: join with the command/],
    ...(cable
      ? [
          [
            'certificate',
            printed.replace('127.0.0.1', '127.0.0.2'),
            1,
            /127\.0\.0\.2:\d+: its certificate does not prove that it is 127\.0\.0\.2 .*--tls-san 127\.0\.0\.2/,
          ] as [string, string, number, RegExp],
        ]
      : []),
  ]
  await Promise.all(
    wrong.map(async ([what, line, exitCode, sentence], index) => {
      const stateDir = join(machine.folder, `wrong-${index}`)
      await t.rejects(
        attempt(line, stateDir),
        { name: /^(Config|Usage|Unsigned|Unreachable)Error$/, exitCode, message: sentence },
        what,
      )
      t.notOk(existsSync(join(stateDir, 'node.json')), `${what}: no node is kept`)
    }),
  )
  const unnamed = { servers: [`https://127.0.0.1:${port}`], ownName: undefined, machineName: 'my_machine', pins: [] }
  await t.rejects(admit(new NodeFolder(join(machine.folder, 'unnamed')), { ...unnamed, skipsPins: true }), {
    name: 'UsageError',
    message: "this machine's name my_machine is not a valid node name: choose one with --node-name",
  })
  const busy = await machine.run(`${printed} --node-name busy --kubelet-port ${takenPort}`)
  t.match(busy, {
    code: 1,
    output: `kubestage: port ${takenPort} on 127.0.0.1 is in use by another program; choose another with --kubelet-port`,
  })
  const state = join(machine.folder, '.kubestage-node')
  await t.rejects(attempt('kubestage join --node-name other', state), {
    message: /is the folder of node busy, not other: kubestage leave --state-dir/,
  })
  const elsewhere = printed.replace(/sha256:\w+/, `sha256:${'0'.repeat(64)}`)
  await t.rejects(attempt(elsewhere, state), { message: /is the folder of node busy of another cluster/ })
  t.match(await machine.run('kubestage leave'), { code: 0, output: /kubectl delete node busy\n$/ })
})

t.test('a node with two API servers outlives the loss of one', async (t) => {
  const machine = new SecondMachine(t)
  const proxy = await startTcpProxy(t, `https://127.0.0.1:${port}`)
  const printed = await joinCommand(t, `--server=127.0.0.1:${proxy.port},127.0.0.1:${port}`)
  const short = printed.replace('discovery-token-ca-cert-hash', 'ca-cert-hash').replace('join ', 'join https://')
  const joining = machine.type(`${short} --node-name two`)
  await joining.printed('Node two has joined')
  await becomesReady('two')
  await startPod('before', 'two')
  proxy.cut()
  await startPod('after', 'two')
  t.match(await getText(cluster, `/api/v1/namespaces/${namespace}/pods/after/log`), 'works')
  process.kill(joining.pid, 'SIGTERM')
  t.equal(await joining.ended, 0)
  t.match(joining.output(), 'Stopping: pods end first.')
  t.match((await client.get<Pod>(pods, { namespace, name: 'after' })).status, { phase: 'Succeeded' }, 'in order')
  const again = machine.type('kubestage join')
  await again.printed('Node two has joined')
  process.kill(again.pid, 'SIGTERM')
  t.equal(await again.ended, 0, 'it starts with the first server away')
})

t.test('a node with an address of its own', { skip: !cable && 'needs root, ip and network namespaces' }, async (t) => {
  const machine = new SecondMachine(t, { before: `ip netns exec ${place}` })
  const printed = await joinCommand(t, `--server=${near}:${port}`)
  const joining = machine.type(`${printed} --node-name far --pod-cidr ${net}.16/28`)
  await joining.printed(`Node far has joined https://${near}:${port}`)
  const node = await becomesReady('far')
  t.match(node.status?.addresses, [{ type: 'InternalIP', address: far }, {}])
  await run('ip', ['route', 'add', `${net}.16/28`, 'via', far])
  await startPod('remote', 'far')
  const pod = `/api/v1/namespaces/${namespace}/pods/remote`
  t.match(await getText(cluster, `${pod}/log`), 'works')
  t.equal(await getText(cluster, '/api/v1/nodes/far/proxy/healthz'), 'ok')
  if (kubectl) {
    t.equal(await kubectlSays(t, kubectl, kubeconfig, ['exec', 'remote', '--', 'echo', 'far']), 'far\n')
    t.equal(await forwarded(t, 'remote'), 'through the tunnel')
  }
  const web = `require('node:http').createServer((request, response) => response.end('over the cable')).listen(8080, process.env.KUBESTAGE_POD_IP)`
  const readinessProbe = { httpGet: { port: 8080 }, periodSeconds: 1 }
  const server = podOf({
    name: 'web',
    command: ['node', '-e', web],
    readinessProbe,
    spec: { nodeName: 'far', terminationGracePeriodSeconds: 1 },
  })
  await client.create<Pod>(pods, server, { namespace })
  await (await followPod(client, { namespace, name: 'web' })).until(isReady, 'to be ready')
  t.equal(await getText(cluster, `/api/v1/namespaces/${namespace}/pods/web:8080/proxy/`), 'over the cable')
  const kubeletPort = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0
  t.equal(await statusOf(`https://${far}:${kubeletPort}/pods`), 401, 'it answers no client without credentials')
  process.kill(joining.pid, 'SIGTERM')
  t.equal(await joining.ended, 0)
})

/** Joins within this process, up to the moment when a kubelet would start. */
async function attempt(line: string, stateDir: string): Promise<number> {
  const args = [...line.split(' ').filter(Boolean).slice(2), '--state-dir', stateDir]
  return await joinProgram.run(await resolveOptions(joinProgram.options, { args, env: {} }))
}

/** What a client gets that has no credentials, and trusts everything. */
function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { rejectUnauthorized: false }, (answer) => resolve(answer.resume().statusCode))
      .on('error', reject)
      .end()
  })
}

/** Sends a line through `kubectl port-forward` to a server that the pod starts. */
async function forwarded(t: Test, pod: string): Promise<string> {
  const echo = `require('node:http').createServer((_, response) => response.end('through the tunnel')).listen(8090, process.env.KUBESTAGE_POD_IP, () => console.log('listens'))`
  const args = ['--kubeconfig', kubeconfig]
  const server = spawn(kubectl!.file, [...args, 'exec', pod, '--', 'node', '-e', echo], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const tunnel = spawn(kubectl!.file, [...args, 'port-forward', `pod/${pod}`, ':8090'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => [server, tunnel].map(({ pid }) => killIfThere(pid ?? 0)))
  let [said, output] = ['', '']
  server.stdout.setEncoding('utf8').on('data', (chunk: string) => (said += chunk))
  tunnel.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  await until(() => said.includes('listens'), { what: `a server in ${pod}` })
  const local = await until(() => /127\.0\.0\.1:(\d+)/.exec(output)?.[1], { what: 'kubectl to listen' })
  const answer = await fetch(`http://127.0.0.1:${local}/`)
  const text = await answer.text()
  for (const child of [tunnel, server]) child.kill()
  return text
}
