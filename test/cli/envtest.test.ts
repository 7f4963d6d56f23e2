import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get as httpGet } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { writeAssets } from '../../cli/envtest/assets.ts'
import { parseGoFlags } from '../../cli/envtest/go-flags.ts'
import { klogLine } from '../../cli/envtest/klog.ts'
import { readKubeApiserverFlags } from '../../cli/envtest/kube-apiserver-flags.ts'
import type { ConfigMap, Namespace } from '../../shared/api/types.ts'
import { configMaps, namespaces, pods, services } from '../../shared/client/resources.ts'
import { type ClusterAccess, createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { defaultFeatureGates } from '../../shared/config/feature-gates.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import { cli } from '../harness/cluster.ts'
import { podOf } from '../harness/pods.ts'
import { until } from '../harness/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubestage-envtest-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const assets = join(folder, 'assets')
writeAssets({ folder: assets, node: process.execPath, program: join(dirname(cli), 'kubestage-envtest.mjs') })

t.test("flags are read as Go's programs read them", async (t) => {
  const flags = parseGoFlags(['--a=1', '-b', '2', '--c', '--d=x=y', '--a=3', '--e='])
  t.same(
    [...flags],
    [
      ['a', '3'],
      ['b', '2'],
      ['c', 'true'],
      ['d', 'x=y'],
      ['e', ''],
    ],
  )
  t.throws(() => parseGoFlags(['word']), /unknown argument "word"/)
  t.match(
    readKubeApiserverFlags([
      '--secure-port',
      '7000',
      '--feature-gates=A=true,PodTerminationReason=false',
      '--token-auth-file=t',
      '--v=2',
    ]),
    {
      host: '127.0.0.1',
      port: 7000,
      featureGates: { ...defaultFeatureGates, PodTerminationReason: false },
      ignored: [{ flag: 'token-auth-file' }, { flag: 'feature-gates', value: 'A' }],
      controllers: false,
    },
  )
  const inPart = [
    '--runtime-config=api/all=true,batch/v1=false,resource.k8s.io/v1beta2=true',
    '--enable-admission-plugins=PodSecurity,AlwaysPullImages',
    '--min-request-timeout=5',
  ]
  t.same(
    readKubeApiserverFlags(inPart).ignored,
    [
      { flag: 'min-request-timeout' },
      { flag: 'enable-admission-plugins', value: 'AlwaysPullImages' },
      { flag: 'runtime-config', value: 'batch/v1=false' },
      { flag: 'runtime-config', value: 'resource.k8s.io/v1beta2=true' },
    ],
    'what is not so is named',
  )
  t.notOk(readKubeApiserverFlags([]).bootstrapTokens, 'as on a real server, bootstrap tokens are off')
  t.ok(readKubeApiserverFlags(['--enable-bootstrap-token-auth']).bootstrapTokens)
  t.match(readKubeApiserverFlags(['--authorization-mode=Node,RBAC,Webhook', '--kubestage-node']), {
    ignored: [{ flag: 'authorization-mode', value: 'Webhook' }],
    alwaysAllow: false,
    node: true,
  })
})

t.test('a mistake is one sentence that names the flag', async (t) => {
  const pem = join(assets, 'etcd')
  for (const [args, sentence] of [
    [['--nonsense=1'], 'unknown flag: --nonsense'],
    [['--secure-port=https'], '--secure-port must be a whole number from 0 to 65535, not "https"'],
    [['--service-cluster-ip-range=10.0.0.0'], '--service-cluster-ip-range must be a range of IPv4 addresses such as'],
    [['--feature-gates=A=maybe'], '--feature-gates must be true or false, not "maybe"'],
    [['--client-ca-file=missing.crt'], '--client-ca-file: missing.crt has no certificates in PEM: ENOENT'],
    [[`--client-ca-file=${pem}`], `--client-ca-file: ${pem} has no certificates in PEM\n`],
    [[`--service-account-signing-key-file=${pem}`], `${pem} has no private key in PEM\n`],
    [[`--tls-cert-file=${pem}`, `--tls-private-key-file=${pem}`], `${pem} are not a certificate in PEM and its key\n`],
    [['--bind-address=192.0.2.1'], 'this machine has no address 192.0.2.1; choose another with --bind-address'],
  ] as const) {
    const server = start(t, 'kube-apiserver', ['--secure-port=0', `--cert-dir=${folder}/mistakes`, ...args])
    t.equal(await server.ended, 1, args.join(' '))
    t.match(server.errors(), `kube-apiserver: `)
    t.match(server.errors(), sentence)
  }
  const etcd = start(t, 'etcd', ['--listen-client-urls=banana'])
  t.equal(await etcd.ended, 1)
  t.match(etcd.errors(), 'etcd: --listen-client-urls must be a URL, not "banana"')
})

t.test('--version prints and exits; an unknown flag is refused', async (t) => {
  const version = (name: string): string =>
    execFileSync(join(assets, name), ['--version'], { encoding: 'utf8', env: {} })
  t.equal(version('kube-apiserver'), 'Kubernetes v1.36.3\n')
  t.match(version('etcd'), /^etcd Version: 3\.6\.\d+$/m)
  const etcd = start(t, 'etcd', ['--nonsense'])
  t.equal(await etcd.ended, 1)
  t.match(etcd.errors(), 'etcd: unknown flag: --nonsense')
})

t.test('both end when the suite that started them is gone', async (t) => {
  const etcdUrl = `http://127.0.0.1:${await freePort()}`
  const commands = [
    `'${join(assets, 'etcd')}' --listen-client-urls=${etcdUrl}`,
    `'${join(assets, 'kube-apiserver')}' --secure-port=0 --cert-dir='${mkdtempSync(join(folder, 'certs-'))}'`,
  ]
  const suite = spawn('sh', ['-c', `${commands.map((command) => `${command} & echo $!`).join('; ')}; wait`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [pids, log] = ['', '']
  suite.stdout.setEncoding('utf8').on('data', (chunk: string) => (pids += chunk))
  suite.stderr.setEncoding('utf8').on('data', (chunk: string) => (log += chunk))
  t.teardown(() => {
    for (const pid of pids.split('\n').filter(Boolean)) if (isAlive(Number(pid))) process.kill(Number(pid), 'SIGKILL')
  })
  await until(() => getJson(`${etcdUrl}/health`), { what: 'etcd' })
  await until(() => log.includes('Serving'), { what: 'a server' })
  suite.kill('SIGKILL')
  for (const pid of pids.split('\n').filter(Boolean)) {
    await until(() => !isAlive(Number(pid)), { what: `process ${pid} to end` })
  }
  t.equal(pids.split('\n').filter(Boolean).length, 2)
})

t.test('log lines are shaped as klog shapes them', async (t) => {
  const line = klogLine({
    level: 40,
    time: Date.UTC(2026, 10, 21, 15, 4, 5, 6),
    msg: 'No "luck"',
    err: { message: 'why' },
    port: 1,
  })
  t.match(line, /^W1121 15:04:05\.006000 +\d+ kubestage] "No \\"luck\\"" err="why" port=1\n$/)
})

t.test('help tells the flags that are looked for, without starting anything', async (t) => {
  const help = (name: string): string => execFileSync(join(assets, name), ['--help'], { encoding: 'utf8', env: {} })
  t.match(help('etcd'), /^\s*--unsafe-no-fsync\b/m)
  t.match(help('kube-apiserver'), /^\s*--client-ca-file\b/m)
  t.notMatch(help('kube-apiserver'), /^\s*--insecure-port\b/m)
})

t.test('etcd says that it is well, and ends on TERM', async (t) => {
  const url = `http://127.0.0.1:${await freePort()}`
  const etcd = start(t, 'etcd', ['--data-dir', folder, `--listen-client-urls=${url}`])
  t.same(await until(() => getJson(`${url}/health`), { what: 'etcd' }), { health: 'true', reason: '' })
  t.equal(await getJson(`${url}/v3/kv/range`), undefined)
  t.equal(await etcd.stop(), 0)
})

t.test(
  'kube-apiserver serves with the certificates it is given, and like the real one has no controllers',
  async (t) => {
    const port = await freePort()
    const certDir = mkdtempSync(join(folder, 'certs-'))
    const pki = ensureClusterPki({
      directory: certDir,
      nowMs: realClock.now(),
      host: '127.0.0.1',
      serviceAddress: '10.0.0.1',
      nodeName: 'unused',
    })
    const clientCa = join(certDir, 'ca.crt')
    const args = [`--cert-dir=${certDir}`, `--client-ca-file=${clientCa}`, '--disable-admission-plugins=ServiceAccount']
    const server = start(t, 'kube-apiserver', [`--secure-port=${port}`, ...args, '--profiling=false'])
    const client = clientFor(t, { server: `https://127.0.0.1:${port}`, ca: pki.ca.cert, ...pki.admin })
    await until(() => client.get<Namespace>(namespaces, { name: 'default' }).catch(() => undefined), {
      what: 'a server',
    })
    t.match(await client.get(services, { namespace: 'default', name: 'kubernetes' }), {
      spec: { clusterIP: '10.0.0.1' },
    })
    await client.create(pods, podOf({ name: 'a', command: ['true'] }), { namespace: 'default' })
    await client.create(namespaces, { metadata: { name: 'doomed' } })
    await client.delete(namespaces, { name: 'doomed' })
    t.match(await client.get(namespaces, { name: 'doomed' }), { status: { phase: 'Terminating' } })
    const lines = [
      /^W.* "Flag has no effect here" flag="profiling"$/m,
      new RegExp(`^I.* "Serving securely on 127.0.0.1:${port}"$`, 'm'),
    ]
    await until(() => lines.every((line) => line.test(server.errors())), { what: `${lines} in its log` })
    t.equal(await server.stop(), 0)
  },
)

t.test('kube-apiserver makes its own certificate if there is none, and trusts only the given CA', async (t) => {
  const port = await freePort()
  const certDir = mkdtempSync(join(folder, 'certs-'))
  const [known, strangers] = ['known-', 'strangers-'].map((name) =>
    ensureClusterPki({
      directory: mkdtempSync(join(folder, name)),
      nowMs: realClock.now(),
      host: '127.0.0.1',
      serviceAddress: '10.0.0.1',
      nodeName: 'some',
    }),
  )
  const clientCa = join(folder, 'known-ca.crt')
  writeFileSync(clientCa, known?.ca.cert ?? '')
  const server = start(t, 'kube-apiserver', [
    ...['--secure-port', `${port}`, '--cert-dir', certDir],
    ...['--client-ca-file', clientCa, '--authorization-mode', 'AlwaysAllow'],
  ])
  await until(() => server.errors().includes('Serving'), { what: 'a server' })
  const access = { server: `https://127.0.0.1:${port}`, ca: readFileSync(join(certDir, 'apiserver.crt'), 'utf8') }
  const stranger = clientFor(t, { ...access, ...strangers?.admin })
  await t.rejects(stranger.get(namespaces, { name: 'default' }), /Unauthorized/)
  const nobodySpecial = clientFor(t, { ...access, ...known?.kubeletClient })
  t.match(await nobodySpecial.create(namespaces, { metadata: { name: 'mine' } }), { metadata: { name: 'mine' } })
  t.equal(await server.stop(), 0)
})

t.test('pods trust the certificate that is served, from any issuer', async (t) => {
  const issuer = ensureClusterPki({
    directory: mkdtempSync(join(folder, 'issuer-')),
    nowMs: realClock.now(),
    host: '127.0.0.1',
    serviceAddress: '10.0.0.1',
    nodeName: 'unused',
  })
  const given = t.testdir({
    'ca.crt': issuer.ca.cert,
    'tls.crt': issuer.apiServer.cert,
    'tls.key': issuer.apiServer.key,
  })
  const port = await freePort()
  const server = start(t, 'kube-apiserver', [
    ...[
      `--secure-port=${port}`,
      `--cert-dir=${mkdtempSync(join(folder, 'certs-'))}`,
      `--client-ca-file=${given}/ca.crt`,
    ],
    ...[`--tls-cert-file=${given}/tls.crt`, `--tls-private-key-file=${given}/tls.key`, '--kubestage-controllers'],
  ])
  const access = { server: `https://127.0.0.1:${port}`, ...issuer.admin }
  const outside = clientFor(t, { ...access, ca: issuer.ca.cert })
  const ref = { namespace: 'default', name: 'kube-root-ca.crt' }
  const published = await until(() => outside.get<ConfigMap>(configMaps, ref).catch(() => undefined), {
    what: 'its CA',
  })
  const inPod = clientFor(t, { ...access, ca: published.data?.['ca.crt'] })
  t.match(await inPod.get(namespaces, { name: 'default' }), { metadata: { name: 'default' } })
  t.equal(await server.stop(), 0)
})

function start(t: Test, name: string, args: string[]) {
  const child = spawn(join(assets, name), args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  t.teardown(() => child.kill('SIGKILL'))
  const stop = (): Promise<number | string> => {
    child.kill('SIGTERM')
    return ended
  }
  return { errors: () => errors, ended, stop }
}

function clientFor(t: Test, access: ClusterAccess) {
  const client = createRestClient({ ...access, clock: realClock })
  t.teardown(() => client.close())
  return client
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Undefined when there is no good answer. */
function getJson(url: string): Promise<unknown> {
  return new Promise((resolve) => {
    httpGet(url, (response) => {
      text(response).then((body) => resolve(response.statusCode === 200 ? JSON.parse(body) : undefined))
    }).on('error', () => resolve(undefined))
  })
}
