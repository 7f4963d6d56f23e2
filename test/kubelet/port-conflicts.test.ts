import t from 'tap'
import { inWords, portsIn, portsOf } from '../../kubelet/containers/port-conflicts.ts'
import { parseSockets } from '../../kubelet/runtime/process/ports/listeners.ts'

t.test('ports that a program did not get, in what it prints', async (t) => {
  const outputs: [output: string, ports: number[]][] = [
    ['Error: listen EADDRINUSE: address already in use 127.64.0.1:8080\n    at Server.listen', [8080]],
    ['listen tcp 0.0.0.0:9090: bind: address already in use', [9090]],
    ["[Errno 98] error while attempting to bind on address ('::', 8000): Address already in use", []],
    ['listening on 127.64.0.1:8080', []],
    ['', []],
  ]
  for (const [output, ports] of outputs) t.same([...portsIn(output)], ports, output)
})

t.test('ports of a container', async (t) => {
  const container = {
    name: 'main',
    ports: [
      { name: 'http', containerPort: 80 },
      { containerPort: 53, protocol: 'UDP' },
    ],
    readinessProbe: { httpGet: { port: 'http' } },
    livenessProbe: { tcpSocket: { port: 81 } },
    lifecycle: { preStop: { httpGet: { port: 82 } } },
  }
  t.same(portsOf(container), [80, 81, 82])
})

t.test('listening sockets, as Linux tells of them', async (t) => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 0100407F:16BF 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 112 1 0 100 0 0 10 0
   2: 0100007F:1F90 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 113 1 0 20 4 30 10 -1
   3: 00000000000000000000000000000000:0BB8 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 114 1 0 100 0 0 10 0
`
  t.same(parseSockets(table), [
    { port: 8080, address: '0.0.0.0', inode: '111' },
    { port: 5823, address: '127.64.0.1', inode: '112' },
    { port: 3000, address: '::', inode: '114' },
  ])
})

t.test('what is said of a holder', async (t) => {
  const remedy = 'stop it, or use another port'
  t.equal(
    inWords({ port: 80, address: '::', pid: 7, program: 'node server.js' }),
    `port 80 is in use by process 7 (node server.js), which listens on all addresses of this machine: ${remedy}`,
  )
  const own = 'let both listen on $KUBESTAGE_POD_IP, or use another port'
  t.equal(
    inWords({ port: 80, address: '0.0.0.0', pid: 7, program: 'nginx', pod: 'default/web' }),
    `port 80 is in use by pod default/web (process 7, nginx), which listens on all addresses of this machine: ${own}`,
  )
  t.equal(
    inWords({ port: 80, address: '127.65.0.4', pid: 7, program: 'nginx', podIP: '127.65.0.4' }),
    `port 80 is in use by the pod at 127.65.0.4 (process 7, nginx), which listens on 127.65.0.4 of this machine: ${own}`,
  )
  t.match(inWords({ port: 80, address: '127.0.0.1' }), 'by a process of another user, which listens on 127.0.0.1 of')
})
