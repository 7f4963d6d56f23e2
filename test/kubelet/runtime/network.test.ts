/** Networks of pods: what they reach, what reaches them, and that nothing is left of them. */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { ContainerRuntime, Sandbox } from '../../../kubelet/runtime/container-runtime.ts'
import { possibleIsolation } from '../../../kubelet/runtime/process/index.ts'
import { linkName } from '../../../kubelet/runtime/process/network/machine-link.ts'
import { parseRoutes } from '../../../shared/network/machine-routes.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'
import { configOf, type Node, sandboxOf, startNode } from './runtime-node.ts'

/** Ranges of their own for clusters that run beside each other. */
const range = `10.${200 + (process.pid % 50)}.${Math.floor(process.pid / 50) % 250}.0/28`
const address = (last: number) => range.replace(/0\/28$/, String(last))
const timeoutMs = 5_000
const web = (words: string) =>
  `use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => '0.0.0.0', LocalPort => 80, Listen => 100, ReuseAddr => 1) or die "$!"; while (my $c = $s->accept) { print $c "${words} to " . $c->peerhost . "\\n"; close $c }`
const ask = (host: string, port = 80) =>
  `use IO::Socket::INET; my $s = IO::Socket::INET->new(PeerAddr => '${host}', PeerPort => ${port}, Timeout => 3) or die "$!"; print <$s>`

async function networkNode(t: Test, options: Parameters<typeof startNode>[2] = {}): Promise<Node | undefined> {
  const possible = await possibleIsolation({ rootDir: t.testdir() })
  if (possible.isolation !== 'pod' || process.getuid?.() !== 0) {
    skipOrFail(t, 'this machine gives us no networks')
    return undefined
  }
  return startNode(t, possible, { ownNetworks: true, ...options })
}

async function run(node: Node, runtime: ContainerRuntime, sandbox: Sandbox, script: string): Promise<string> {
  const { id } = await runtime.startContainer(configOf(node, sandbox, ['perl', '-e', script], { name: sandbox.podUid }))
  return id
}

const inPod = async (runtime: ContainerRuntime, id: string, script: string): Promise<string> => {
  const result = await runtime.execSync(id, { command: ['perl', '-e', script] })
  return result.output
}

const said = async (runtime: ContainerRuntime, host: string, podSandbox?: string): Promise<string> =>
  text((await answering(() => runtime.network!.connect({ host, port: 80, timeoutMs, podSandbox }))) as Socket)

/** Its server may just be starting. */
const answering = (connect: () => Promise<Socket>): Promise<Socket> =>
  until(() => connect().catch(() => undefined), { what: 'the server' })

const shimPid = (node: Node): string => readFileSync(path.join(node.rootDir, 'runtime', 'shim.pid'), 'utf8').trim()
const networksOf = (node: Node): number =>
  readdirSync(`/proc/${shimPid(node)}/fd`).filter((fd) => linkOf(`/proc/${shimPid(node)}/fd/${fd}`).startsWith('net:'))
    .length
function linkOf(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}
const linksOf = (node: Node): number =>
  readdirSync('/sys/class/net').filter((name) => name === linkName(path.join(node.rootDir, 'runtime'))).length

t.test('two pods that listen on one port of all addresses', async (t) => {
  const node = await networkNode(t)
  if (!node) return
  let { runtime } = node
  t.equal(await runtime.usePodAddresses(range), undefined)
  const one = await sandboxOf(runtime, 'one')
  const two = await sandboxOf(runtime, 'two')
  t.same(
    [one.ip, two.ip].map((ip) => ip.replace(/\d+$/, '')),
    Array(2).fill(range.replace(/0\/28$/, '')),
  )
  t.notOk(
    [address(1), address(14)].some((taken) => [one.ip, two.ip].includes(taken)),
    'bridge and machine have theirs',
  )
  const oneId = await run(node, runtime, one, web('one'))
  const twoId = await run(node, runtime, two, web('two'))

  t.equal(await said(runtime, one.ip), `one to ${address(1)}\n`, 'the node reaches each at its own address')
  t.equal(await said(runtime, two.ip), `two to ${address(1)}\n`)
  t.equal(await inPod(runtime, oneId, ask(two.ip)), `two to ${one.ip}\n`, 'pods reach each other')
  t.equal(await inPod(runtime, oneId, ask(one.ip)), `one to ${one.ip}\n`, 'and themselves')
  t.equal(await said(runtime, '127.0.0.1', two.id), 'two to 127.0.0.1\n', 'each has a localhost of its own')
  t.equal(await text((await runtime.portForward(two.id, 80)) as Socket), 'two to 127.0.0.1\n')
  t.equal(
    execFileSync('perl', ['-e', ask(one.ip)], { encoding: 'utf8' }),
    `one to ${address(14)}\n`,
    'the machine reaches it',
  )
  const besides = await sandboxOf(runtime, 'host', true)
  const hostId = await run(node, runtime, besides, 'sleep 1000')
  t.equal(await inPod(runtime, hostId, 'print readlink "/proc/self/ns/net"'), readlinkSync('/proc/self/ns/net'))

  await t.test('connections that fail, fail as sockets do', async (t) => {
    const connect = (host: string, port: number, ms = timeoutMs) =>
      runtime.network!.connect({ host, port, timeoutMs: ms })
    await t.rejects(connect(one.ip, 81), { code: 'ECONNREFUSED' })
    await t.rejects(connect('192.0.2.1', 80, 50), { code: /ETIMEDOUT|ENETUNREACH/ })
    const many = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const podSandbox = index % 2 ? one.id : two.id
        return text(await runtime.network!.connect({ host: '127.0.0.1', port: 80, timeoutMs, podSandbox }))
      }),
    )
    t.same(
      many,
      many.map((_, index) => `${index % 2 ? 'one' : 'two'} to 127.0.0.1\n`),
      'each gets its own of many',
    )
  })

  await t.test('pods live through the end of a kubelet', async () => {
    await runtime.close()
    t.equal(await inPodOf(one, ask(two.ip), node), `two to ${one.ip}\n`)
    runtime = await node.again()
    t.equal(await said(runtime, two.ip), `two to ${address(1)}\n`, 'the next kubelet reaches them')
    t.equal(await runtime.usePodAddresses(range), undefined)
    t.equal(await inPod(runtime, oneId, ask(two.ip)), `two to ${one.ip}\n`)
    const three = await sandboxOf(runtime, 'three')
    t.notOk([one.ip, two.ip].includes(three.ip))
  })

  await t.test('what is served in the node is reached by pods, also after the door was killed', async (t) => {
    const serve = (socket: Socket) => void socket.end(`served to ${socket.remoteAddress}\n`)
    const served = await runtime.network!.listen({ host: '10.96.0.1', port: 443 }, serve)
    t.equal(await inPod(runtime, oneId, ask('10.96.0.1', 443)), `served to ${one.ip}\n`)
    const echo = await runtime.network!.bind({ host: '10.96.0.10', port: 53 }, (socket) =>
      socket.on('message', (words, { address, port }) => socket.send(`${words} from ${address}`, port, address)),
    )
    const datagram = `use IO::Socket::INET; my $s = IO::Socket::INET->new(PeerAddr => '10.96.0.10', PeerPort => 53, Proto => 'udp'); send($s, 'hello', 0); recv($s, my $got, 100, 0); print $got`
    t.equal(await inPod(runtime, oneId, datagram), `hello from ${one.ip}`)
    const door = childrenOf(process.pid).find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('door.pl'))
    process.kill(door ?? 0, 'SIGKILL')
    t.equal(await inPod(runtime, twoId, ask('10.96.0.1', 443)), `served to ${two.ip}\n`)
    t.equal(await said(runtime, one.ip), `one to ${address(1)}\n`, 'another door is opened')
    served.close()
    echo.close()
    t.notMatch(await inPod(runtime, twoId, ask('10.96.0.1', 443)), 'served')
  })

  await t.test('kernel parameters of the network', async (t) => {
    const sysctls = [{ name: 'net.ipv4.ip_local_port_range', value: '4000 4100' }]
    const config = { ...one, podUid: 'set', name: 'set', sysctls }
    const set = await runtime.startSandbox(config)
    const id = await run(node, runtime, set, 'sleep 1000')
    const read = 'print `cat /proc/sys/net/ipv4/ip_local_port_range /proc/sys/net/ipv4/ip_unprivileged_port_start`'
    t.equal(await inPod(runtime, id, read), '4000\t4100\n0\n')
    t.match(await inPod(runtime, oneId, read), /^32768\t/, 'another pod has the usual')
    const wrong = [{ name: 'net.ipv4.ip_local_port_range', value: 'x' }]
    await t.rejects(runtime.startSandbox({ ...config, sysctls: wrong }), {
      message: /failed to setup network for sandbox .*sysctl net\.ipv4\.ip_local_port_range: EINVAL/,
    })
  })

  await t.test('a port of the machine leads to a pod, until that ends', async (t) => {
    const hostPort = await freePort()
    const hostPorts = [{ ip: '127.0.0.1', protocol: 'TCP', port: hostPort, containerPort: 80 }]
    const sandbox = await runtime.startSandbox({ ...one, podUid: 'ports', name: 'ports', hostPorts })
    const id = await run(node, runtime, sandbox, web('ports'))
    const asked = () => onMachine(hostPort).catch(() => '')
    t.equal(await until(asked, { what: 'the server behind the port' }), `ports to ${address(1)}\n`)
    const taken = { ...one, podUid: 'taken', name: 'taken', hostPorts }
    await t.rejects(runtime.startSandbox(taken), { message: /failed to setup network .*another program/ })
    runtime = await node.again()
    await runtime.usePodAddresses(range)
    t.equal(await until(asked, { what: 'the next kubelet to serve it' }), `ports to ${address(1)}\n`)
    await runtime.stopContainer(id, { signal: 'KILL', gracePeriodMs: 0 })
    await runtime.removeSandbox(sandbox.id)
    await t.rejects(onMachine(hostPort), { code: 'ECONNREFUSED' })
  })

  await t.test('a port of the machine for datagrams leads to a pod, until that ends', async (t) => {
    const networks = networksOf(node)
    const port = await freePort()
    const hostPorts = [{ ip: '127.0.0.1', protocol: 'UDP', port, containerPort: 53 }]
    const sandbox = await runtime.startSandbox({ ...one, podUid: 'datagrams', name: 'datagrams', hostPorts })
    const echo = `use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => '0.0.0.0', LocalPort => 53, Proto => 'udp') or die; while (my $from = recv($s, my $got, 100, 0)) { my ($port, $ip) = sockaddr_in($from); send($s, "$got from " . inet_ntoa($ip) . ":$port", 0, $from) }`
    const id = await run(node, runtime, sandbox, echo)
    const client = createSocket('udp4')
    t.teardown(() => client.close())
    const heard: string[] = []
    client.on('message', (words) => heard.push(String(words)))
    await until(
      () => {
        client.send('hello', port, '127.0.0.1')
        return heard.length > 0
      },
      { what: 'an echo' },
    )
    const other = createSocket('udp4')
    t.teardown(() => other.close())
    const answered = once(other, 'message')
    other.send('hi', port, '127.0.0.1')
    const [[answer]] = [await answered]
    t.match(String(answer), new RegExp(`^hi from ${address(1)}:\\d+$`), 'the pod sees the node')
    t.match(heard[0], new RegExp(`^hello from ${address(1)}:`))
    t.not(String(answer).split(':')[1], heard[0]?.split(':')[1], 'each client has an exchange of its own')
    const taken = { ...one, podUid: 'taken', name: 'taken', hostPorts }
    await t.rejects(runtime.startSandbox(taken), { message: /failed to setup network .*another program/ })
    await runtime.stopContainer(id, { signal: 'KILL', gracePeriodMs: 0 })
    await runtime.removeSandbox(sandbox.id)
    const again = createSocket('udp4').bind(port, '127.0.0.1')
    await once(again, 'listening')
    again.close()
    await until(() => networksOf(node) === networks, { what: 'the network to be gone' })
  })

  await t.test('a network goes with its pod, and all go with the shim', async (t) => {
    const before = networksOf(node)
    await runtime.stopContainer(twoId, { signal: 'KILL', gracePeriodMs: 0 })
    await runtime.removeSandbox(two.id)
    await until(() => networksOf(node) === before - 1, { what: 'the network to be gone' })
    t.equal(linksOf(node), 1)
    process.kill(Number(shimPid(node)), 'SIGKILL')
    await until(() => linksOf(node) === 0, { what: 'the link to be gone' })
  })
})

async function onMachine(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port })
  await once(socket, 'connect')
  return text(socket)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

/** Without a kubelet: beside the pod's process. */
async function inPodOf(sandbox: Sandbox, script: string, node: Node): Promise<string> {
  const own = readFileSync(path.join(node.rootDir, 'runtime', 'journal'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const container = own.findLast((entry) => entry.container?.sandboxId === sandbox.id).container
  const { pid } = own.findLast((entry) => entry.id === container.id && entry.started).started
  return execFileSync('nsenter', ['-t', String(pid), '-n', 'perl', '-e', script], { encoding: 'utf8' })
}

t.test('a machine that has a route to the range already', async (t) => {
  const warnings: string[] = []
  const first = await networkNode(t)
  if (!first) return
  const second = await networkNode(t, { warn: (message) => warnings.push(message) })
  if (!second) return
  const other = range.replace(/^10\.\d+/, '10.250')
  await first.runtime.usePodAddresses(other)
  await second.runtime.usePodAddresses(other)
  t.match(warnings.join(), new RegExp(`at their addresses: the machine has a route to ${other} by kubestage-`))
  const [one, two] = await Promise.all([first, second].map(({ runtime }) => sandboxOf(runtime, 'p')))
  await run(first, first.runtime, one!, web('first'))
  await run(second, second.runtime, two!, web('second'))
  t.match(await said(first.runtime, one!.ip), /^first/)
  t.match(await said(second.runtime, two!.ip), /^second/)
})

t.test('an ordinary user has networks, too, if user namespaces are allowed', async (t) => {
  if (process.getuid?.() !== 0) return skipOrFail(t, 'the tests above have shown it')
  const folder = mkdtempSync(path.join(tmpdir(), 'kubestage-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o777)
  const program = path.join(import.meta.dirname, 'ordinary-network.ts')
  const nobody = { uid: 65_534, gid: 65_534, cwd: '/', env: { ...process.env, TMPDIR: folder, HOME: folder } }
  const { error, stdout } = await new Promise<{ error: Error | null; stdout: string }>((resolve) =>
    execFile(process.execPath, [program], nobody, (error, stdout) => resolve({ error, stdout })),
  )
  if (error && /EACCES|permission denied/i.test(error.message)) return skipOrFail(t, 'nobody may read our files here')
  t.error(error)
  const { why, ips, ...found } = JSON.parse(stdout)
  if (why) return skipOrFail(t, `an ordinary user has no networks here: ${why}`)
  const [one, two] = ips
  const wanted = ['one to 10.244.0.1', 'two to 10.244.0.1', `two to ${one}`]
  t.same(found.answers, wanted, `the node reaches ${one} and ${two}, and pods reach each other`)
  if (spawnSync('nft', ['--version']).status === 0)
    t.match(found.ruled, 'timed out', 'rules are carried out: what they drop does not arrive')
  t.equal(found.forwarded, 'two to 127.0.0.1')
  t.match(found.sees, /^65534\nperl\none\nCapEff:\t0+\n$/, 'its own user, processes and name, and no rights')
  t.equal(found.inHost, readlinkSync('/proc/self/ns/net'), 'a pod with hostNetwork has the machine’s')
  t.equal(found.onTerminal, found.plain, 'a command on a terminal is in the pod’s network')
  t.not(found.plain, found.inHost)
  t.same(found.again, wanted.slice(1), 'the next kubelet finds them')
  t.match(found.warnings, [/this machine reaches pods only by kubectl and the kubelet.*: that needs root$/])
})

t.test('routes of a machine', async (t) => {
  const table = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0102000A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
`
  const found = parseRoutes(table).map(({ device, network }) => `${device} ${network.cidr}`)
  t.same(found, ['eth0 10.0.2.0/24'])
})
