import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { createImages } from '../../../kubelet/runtime/images/images.ts'
import { createProcessRuntime, possibleIsolation, startShim } from '../../../kubelet/runtime/process/index.ts'
import { whyNoNetworks } from '../../../kubelet/runtime/process/network/door.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { until } from '../../harness/until.ts'

/** A kubelet whose pods have networks, as far as its runtime goes, to be run by a test as an ordinary user. */
const why = await whyNoNetworks()
const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-'))
const capabilities = await possibleIsolation({ rootDir })
if (why || capabilities.isolation !== 'pod') {
  process.stdout.write(JSON.stringify({ why: why ?? 'no isolation' }))
  process.exit()
}
const { command, args } = startShim({ rootDir })
const shim = spawn(command, args, { stdio: ['pipe', 'ignore', 'inherit'] })
const warnings: string[] = []
const options = {
  rootDir,
  clock: realClock,
  images: createImages({ commands: {}, paths: {} }),
  nodeIP: '127.0.0.1',
  supervised: true,
  capabilities,
  ownNetworks: true,
  warn: (message: string) => void warnings.push(message),
}
let runtime = await createProcessRuntime(options)
await runtime.usePodAddresses('10.244.0.0/28')
const start = async (name: string, hostNetwork = false) => {
  const pod = { podUid: name, namespace: 'default', name, hostname: name, hostNetwork }
  const sandbox = await runtime.startSandbox({ ...pod, shareProcessNamespace: false, annotations: {} })
  const web = `use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => '0.0.0.0', LocalPort => 80, Listen => 9) or die "$!"; while (my $c = $s->accept) { print $c "${name} to " . $c->peerhost; close $c }`
  const { id } = await runtime.startContainer({
    sandboxId: sandbox.id,
    name: 'main',
    attempt: 0,
    image: 'busybox',
    imageId: 'busybox',
    command: ['perl', '-e', hostNetwork ? 'sleep 1000' : web],
    env: {},
    path: [],
    logPath: path.join(rootDir, name),
    stdin: false,
    tty: false,
    annotations: {},
  })
  return { id, sandbox, ip: sandbox.ip }
}
const one = await start('one')
const two = await start('two')
const host = await start('host', true)
const ask = (ip: string): Promise<string> =>
  until(
    () =>
      runtime.network
        ?.connect({ host: ip, port: 80, timeoutMs: 5_000 })
        .then(text)
        .catch(() => ''),
    {
      what: ip,
    },
  )
const run = async (id: string, ...command: string[]): Promise<string> =>
  (await runtime.execSync(id, { command })).output
const from = (ip: string) =>
  `use IO::Socket::INET; my $s = IO::Socket::INET->new(PeerAddr => '${ip}', PeerPort => 80, Timeout => 3) or die "$!"; print <$s>`
const answers = [await ask(one.ip), await ask(two.ip), await run(one.id, 'perl', '-e', from(two.ip))]
const rules = `add table ip test
add chain ip test there { type filter hook prerouting priority 0; }
add rule ip test there ip daddr ${two.ip} tcp dport 80 drop`
const ruled = await runtime.network
  ?.useRules('test', rules)
  .then(() => run(one.id, 'perl', '-e', from(two.ip)))
  .catch(({ message }: Error) => message)
await runtime.network?.useRules('test', 'delete table ip test')
const forwarded = await text((await runtime.portForward(two.sandbox.id, 80)) as Socket)
const sees = await run(one.id, 'sh', '-c', 'id -u; cat /proc/1/comm; hostname; grep CapEff /proc/1/status')
const inHost = (await run(host.id, 'readlink', '/proc/self/ns/net')).trim()
const terminal = await runtime.exec(one.id, { command: ['readlink', '/proc/self/ns/net'], stdin: false, tty: true })
const onTerminal = (await text(terminal.stdout)).trim()
const plain = (await run(one.id, 'readlink', '/proc/self/ns/net')).trim()
await runtime.close()
runtime = await createProcessRuntime(options)
const again = [await ask(two.ip), await run(one.id, 'perl', '-e', from(two.ip))]
const shimPid = readFileSync(path.join(rootDir, 'runtime', 'shim.pid'), 'utf8').trim()
await runtime.close()
shim.stdin?.end()
shim.on('exit', () => {
  const found = { answers, ruled, forwarded, sees, inHost, plain, onTerminal, again, warnings, shimPid }
  process.stdout.write(JSON.stringify({ ips: [one.ip, two.ip], ...found }))
})
