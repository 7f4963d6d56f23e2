import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { notBundled } from '../../scripts/build/bundle.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { nodes } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { repository } from '../harness/cluster.ts'
import { readPage } from '../harness/doc-page.ts'
import { httpsExchange } from '../harness/https-exchange.ts'
import { findKubectls } from '../harness/kubectl.ts'
import { skipOrFail } from '../harness/skip.ts'
import { otherNodes, pathOf, toolchain } from '../harness/toolchains.ts'

const maxBytes = 5.5 * 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), 'kubestage-package-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
t.setTimeout(process.env.KUBESTAGE_INSTALL_MATRIX ? 1_800_000 : 600_000)

const app = join(folder, 'app')
const installed = join(app, 'node_modules', 'kubestage')
const program = join(installed, 'bin', 'kubestage.mjs')
let tarball = ''
let size = 0
/** As a user's shell has it: without what tap says to each process that a test starts, and npm to each script. */
const shell = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm|tap|kubestage)_/i.test(name)))
/** tap gives every process its loaders, with which neither the compiler nor an old Node runs. */
const run = (file: string, args: string[], { cwd, env = shell }: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) =>
  promisify(execFile)('env', ['-u', 'NODE_OPTIONS', file, ...args], { cwd, env })

const { dependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
const installedBeside = Object.keys(dependencies)
const { optionalDependencies: nodePackages } = JSON.parse(
  readFileSync(join(repository, 'bin', 'node', 'package.json'), 'utf8'),
)
/** What the package does not bring, and whoever checks types, runs suites, or has an old Node, has. */
const ofTheUser = ['@kubernetes/client-node', '@types/node', 'tap', ...Object.keys(nodePackages)]

/** An empty folder in which the package has been installed; what it depends on is ours, so that no registry is needed. */
t.before(async () => {
  await run('npm', ['pack', '--pack-destination', folder], { cwd: repository })
  tarball = readdirSync(folder)
    .filter((name) => name.endsWith('.tgz'))
    .map((name) => join(folder, name))
    .join()
  size = statSync(tarball).size
  const modules = join(app, 'node_modules')
  mkdirSync(installed, { recursive: true })
  await run('tar', ['xzf', tarball, '-C', installed, '--strip-components=1'])
  for (const name of [...installedBeside, ...ofTheUser]) {
    if (!existsSync(join(repository, 'node_modules', name))) continue // of another machine
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(repository, 'node_modules', name), join(modules, name))
  }
})

const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(repository, 'node_modules', name, 'package.json'), 'utf8')).version

t.test('the bill of materials names each package that runs', async (t) => {
  const bill = JSON.parse(readFileSync(join(installed, 'dist', 'sbom.cdx.json'), 'utf8'))
  t.match(bill, { bomFormat: 'CycloneDX', specVersion: '1.6', metadata: { component: { name: 'kubestage' } } })
  const purls = bill.components.map(({ purl }: { purl: string }) => decodeURIComponent(purl))
  for (const name of Object.keys(dependencies)) t.ok(purls.includes(`pkg:npm/${name}@${versionOf(name)}`), name)
  t.notOk(
    purls.some((purl: string) => purl.startsWith('pkg:npm/typescript@')),
    'no tool of development',
  )
  t.same(purls.length, new Set(purls).size, 'each once')
})

t.test('what is in the package', async (t) => {
  t.ok(size < maxBytes, `${size} bytes`)
  const { scripts, version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  for (const name of ['preinstall', 'install', 'postinstall']) t.notOk(name in scripts, `no ${name} script`)
  for (const file of [
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
    'THIRD-PARTY-NOTICES.md',
    'dist/library/index.d.ts',
    'dist/kubestage.schema.json',
    'dist/ui/page/main.js',
    'dist/ui/page/main.css',
  ]) {
    t.ok(statSync(join(installed, file)).isFile(), file)
  }
  t.match(readFileSync(join(installed, 'CHANGELOG.md'), 'utf8'), `## ${version}`)
  const notices = readFileSync(join(installed, 'THIRD-PARTY-NOTICES.md'), 'utf8')
  const installedWith = [...notBundled, ...Object.keys(nodePackages)]
  for (const name of installedWith.filter((name) => name !== '@kubernetes/client-node')) {
    t.match(notices, `\`${name}\``)
  }
  const licences = readFileSync(join(installed, 'dist', 'LICENCES.txt'), 'utf8')
  const bundled = Object.keys(dependencies).filter((name) => !notBundled.includes(name))
  for (const name of bundled) t.match(licences, `\n${name} ${versionOf(name)}, `)
  for (const name of notBundled) t.notMatch(licences, `\n${name} `, 'not bundled')
})

/** One that is too old starts another. By version, each once. */
const interpreters = new Map<string, string>()
for (const file of [...otherNodes().values(), '/usr/bin/node', '/usr/local/bin/node', process.execPath]) {
  const { stdout } = await run(file, ['--version']).catch(() => ({ stdout: '' }))
  if (stdout) interpreters.set(stdout.trim(), file)
}
for (const [version, node] of interpreters) {
  t.test(`a cluster in the background, by ${version}`, async (t) => {
    const state = [`--state-dir=.state-${version}`]
    const up = await run(node, [program, 'up', '--detach', '--port=0', '--kubernetes-version=v1.35.9', ...state], {
      cwd: app,
    })
    t.match(up.stdout, /^Kubestage runs: https:/)
    const access = await loadKubeconfig(join(app, `.state-${version}`, 'kubeconfig'))
    const client = createRestClient({ ...access, clock: realClock })
    t.match((await client.list(nodes)).items, [{ metadata: { name: 'node-1' } }])
    await client.close()
    t.match((await run(node, [program, 'down', ...state], { cwd: app })).stdout, 'Stopped.')
  })
}

t.test('a command runs what an earlier one has compiled', async (t) => {
  const cache = join(folder, 'compiled')
  const version = () =>
    run(process.execPath, [program, '--version'], { cwd: app, env: { ...shell, NODE_COMPILE_CACHE: cache } })
  const kept = () =>
    readdirSync(cache, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /cli-main\.cjs-\w+---version$/.test(file),
    )
  const { stdout } = await version()
  const [file = '', ...others] = kept()
  t.same(others, [])
  const { ino } = statSync(join(cache, file))
  t.equal((await version()).stdout, stdout)
  t.same(kept(), [file])
  t.equal(statSync(join(cache, file)).ino, ino, 'the file is not written again')
  writeFileSync(join(cache, file), 'not what V8 has compiled')
  t.equal((await version()).stdout, stdout)
  t.not(statSync(join(cache, file)).ino, ino, 'a damaged file is written again')
})

t.test('commands without the code of a server', async (t) => {
  const state = '--state-dir=.state-none'
  for (const command of ['status', 'env', 'logs', 'down']) {
    const { stdout } = await run(process.execPath, [program, command, '--help'], { cwd: app })
    t.match(stdout, `Usage: kubestage ${command}`)
  }
  const { code, stdout } = await run(process.execPath, [program, 'status', state], { cwd: app }).catch((error) => error)
  t.equal(code, 1)
  t.match(stdout, 'stopped')
})

t.test('the library, with its types', async (t) => {
  writeFileSync(
    join(app, 'try.ts'),
    `import { type Pod, resources, startCluster } from 'kubestage'
await using cluster = await startCluster({ storage: \`sqlite:\${process.argv[2]}\` })
const pod = await cluster.client.create<Pod>(resources.pods, {
  metadata: { name: 'web', namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'x', command: ['sleep', '60'] }] },
})
const { status } = await cluster.waitFor<Pod>(resources.pods, { name: 'web' }, (web) => web.status?.phase === 'Running')
// @ts-expect-error: there is no such field
pod.spec.containrs
console.log(pod.spec.containers[0]?.name, status?.phase)
`,
  )
  writeFileSync(
    join(app, 'all.ts'),
    `import { CoreV1Api, type KubeConfig } from '@kubernetes/client-node'
import { type ClusterPlugin, type FaultRule, type JournalFilter, resources, type Snapshot, type StartClusterOptions, startCluster } from 'kubestage'
const options: StartClusterOptions = { apiOnly: true, journal: 100 }
export async function all() {
  await using cluster = await startCluster(options)
  const core: CoreV1Api = await cluster.apiClient(CoreV1Api, { name: 'jane', groups: ['dev'] })
  const config: KubeConfig = await cluster.kubeConfig()
  const rule: FaultRule = { verb: ['get', 'list'], resource: 'pods', probability: 0.5, seed: 1, then: { stale: 1 } }
  using fault = cluster.faults.add(rule)
  const filter: JournalFilter = { verb: 'list', code: 403 }
  cluster.journal.assert(filter, { min: 0, max: 2 })
  const snapshot: Snapshot = await cluster.snapshot()
  const { created } = await cluster.restore(snapshot)
  await cluster.waitForDeleted(resources.pods, { name: 'web' }, { timeout: '1s' })
  await cluster.clock.advance('1s')
  // @ts-expect-error: there is no such effect
  cluster.faults.add({ then: { explode: true } })
  const plugin: ClusterPlugin = async (app) => {
    app.get('/mine', async (request) => request.kubernetes.user?.name)
    app.addHook('onSend', async (_request, reply) => void reply.header('x-mine', 'yes'))
    // @ts-expect-error: nor such a part of a request
    app.addHook('onRequest', async (request) => request.kubernetes.usr)
  }
  await using other = await startCluster({ plugins: [plugin, async (app) => void app.get('/typed', async () => '')] })
  const answer = await other.inject({ url: '/mine', user: { name: 'jane' } })
  const code: number = answer.statusCode
  // @ts-expect-error: nor such an option
  await startCluster({ apionly: true })
  return [code, core, fault.hits(), created, cluster.kubeconfigOf({ name: 'x' })]
}
`,
  )
  writeFileSync(join(app, 'package.json'), '{"type":"module"}')
  const checks = [
    ['nodenext', 'nodenext', ['try.ts', 'all.ts']],
    ['bundler', 'esnext', ['try.ts', 'all.ts']],
  ] as const
  for (const [moduleResolution, module, files] of checks) {
    const strict = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
    }
    const options = {
      ...strict,
      target: 'esnext',
      lib: ['esnext'],
      module,
      moduleResolution,
      types: ['node'],
      noEmit: true,
    }
    const tsconfig = { compilerOptions: options, files }
    writeFileSync(join(app, 'tsconfig.json'), JSON.stringify(tsconfig))
    const types = await run(join(repository, 'node_modules', '.bin', 'tsc'), ['-p', app]).catch((error) => error)
    t.equal(types.stdout, '', `${files}, ${moduleResolution}`)
  }
  const { stdout } = await run(process.execPath, ['try.ts', join(app, 'library.db')], { cwd: app })
  t.equal(stdout, 'main Running\n')
})

t.test('the quick start of the page about test suites, as written', async (t) => {
  const [block, ...others] = readPage('docs/test-suites.md').blocks.filter(({ marks }) => marks.file)
  t.equal(others.length, 0)
  const suite = join(app, 'suite')
  mkdirSync(suite)
  writeFileSync(join(suite, block!.marks.file!), block!.text)
  const { stdout } = await run(process.execPath, ['--test'], { cwd: suite }).catch((error) => error)
  t.match(stdout, /^. pass 1$/m)
})

t.test('the examples of test suites', async (t) => {
  const examples = join(installed, 'examples', 'test-suites')
  const suite = (...args: string[]) =>
    run(process.execPath, args, { cwd: examples }).then(
      () => 'passed',
      (error: { stdout: string }) => error.stdout,
    )
  const byTap = ['clock', 'faults', 'journal', 'snapshot'].map((name) => suite(`tap/${name}.test.mjs`))
  t.same(new Set(await Promise.all([suite('--test', 'node-test/*.mjs'), ...byTap])), new Set(['passed']))
})

t.test('tests that fail leave a record', async (t) => {
  const vitest = toolchain('vitest')
  if (!vitest) return skipOrFail(t, 'vitest is not installed (npm ci --prefix test/toolchains)')
  symlinkSync(vitest, join(app, 'node_modules', 'vitest'))
  const suites = {
    tap: ['deaf.tap.test.mjs'],
    vitest: [join(vitest, 'vitest.mjs'), 'run', 'deaf.vitest.test.mjs'],
  }
  for (const [name, args] of Object.entries(suites)) {
    const cwd = join(app, name)
    cpSync(join(installed, 'examples', 'failing-tests'), cwd, { recursive: true })
    const { code, stderr } = await run(process.execPath, args, { cwd }).catch((error) => error)
    t.equal(code, 1, `${name} fails`)
    t.match(stderr, /kubestage ui records\/.*ndjson/, 'the record is named')
    const [file = ''] = readdirSync(join(cwd, 'records'))
    const out = join(folder, `${name}.html`)
    await run(process.execPath, [program, 'export', join('records', file), '--html', '-o', out], { cwd })
    t.match(readFileSync(out, 'utf8'), /"text":"failed: .*a worker stops when it is asked to/)
    const { stdout } = await run(
      process.execPath,
      [program, 'export', join('records', file), '--svg', '--view=death'],
      {
        cwd,
      },
    )
    t.match(stdout, 'worker: ignored TERM')
  }
})

t.test('plugins, of the command in JavaScript and TypeScript, and of the library', async (t) => {
  const text = (types: string) => `export default async (app${types}) => {
  const schema = { querystring: { type: 'object', properties: { size: { type: 'integer' } } } }
  app.get('/mine', { schema }, async ({ query, kubernetes }) => ({ query, user: kubernetes.user.name }))
}
`
  const meta = "Object.assign(mine, { [Symbol.for('plugin-meta')]: { name: 'mine', fastify: '5.x' } })"
  writeFileSync(join(app, 'mine.mjs'), `${text('').replace('export default', 'const mine =')}export default ${meta}\n`)
  writeFileSync(join(app, 'mine.ts'), `import type { ClusterPlugin } from 'kubestage'\n${text(': any')}`)
  writeFileSync(join(app, 'wrong.mjs'), text('').replace('integer', 'no type'))
  const answer = '{"query":{"size":3},"user":"kubernetes-admin"}'
  for (const file of ['mine.mjs', 'mine.ts']) {
    const state = [`--state-dir=.plugin-${file}`]
    const up = ['up', '--detach', '--kubelet=false', '--port=0', `--plugin=./${file}`, ...state]
    await run(process.execPath, [program, ...up], { cwd: app })
    t.teardown(() => run(process.execPath, [program, 'down', ...state], { cwd: app }))
    const { server, ca, cert, key } = await loadKubeconfig(join(app, `.plugin-${file}`, 'kubeconfig'))
    const { hostname: host, port } = new URL(server)
    const { bytes } = await httpsExchange({ host, port, path: '/mine?size=3', ca, cert, key, agent: false })
    t.equal(bytes.toString(), answer, file)
  }
  const wrong = ['up', '--kubelet=false', '--port=0', '--plugin=./wrong.mjs', '--state-dir=.plugin-wrong']
  const { code, stderr } = await run(process.execPath, [program, ...wrong], { cwd: app }).catch((error) => error)
  t.equal(code, 1)
  t.match(stderr, /^kubestage: plugin \.\/wrong\.mjs has a schema that cannot be used: .*\n$/)
  writeFileSync(
    join(app, 'inject.mjs'),
    `import { startCluster, StatusError } from 'kubestage'
import mine from './mine.mjs'
const refuse = async (app) => app.get('/refuse', async () => { throw new StatusError({ code: 409, message: 'no' }) })
const cluster = await startCluster({ apiOnly: true, plugins: [mine, refuse] })
const { body } = await cluster.inject({ url: '/mine?size=3' })
const { statusCode } = await cluster.inject({ url: '/refuse' })
await cluster.close()
console.log(body, statusCode)
`,
  )
  t.equal((await run(process.execPath, ['inject.mjs'], { cwd: app })).stdout, `${answer} 409\n`)
})

t.test('the library, in the Nodes that test suites have', async (t) => {
  const file = join(app, 'suite.mjs')
  writeFileSync(
    file,
    `import { resources, startCluster } from 'kubestage'
const cluster = await startCluster({ storage: 'sqlite:' + process.argv[2] })
const web = { namespace: 'default', name: 'web' }
const main = { name: 'main', image: 'busybox', command: ['sleep', '1000'] }
await cluster.client.create(resources.pods, { metadata: web, spec: { containers: [main] } })
await cluster.waitFor(resources.pods, web, ({ status }) => status?.phase === 'Running')
await cluster.client.delete(resources.pods, web, { reason: 'Update', gracePeriodSeconds: 1 })
const { reason } = await cluster.terminations.of('web')
await cluster.close()
console.log(reason)
`,
  )
  const nodes = otherNodes()
  if (nodes.size === 0) return skipOrFail(t, 'no other Node: npm ci --ignore-scripts --prefix test/toolchains')
  for (const [name, node] of nodes) {
    const said = await run(node, [file, join(app, `${name}.db`)], { cwd: app }).catch((error) => error)
    if (name === 'node-20') t.match(said.stderr, /kubestage needs Node 22\.19 or newer; this is Node 20\./)
    else t.equal(said.stdout, 'Update\n', name)
  }
})

t.test('a suite of node:test says that its Node is too old', async (t) => {
  const [, old] = [...interpreters].find(([version]) => /^v2[01]\./.test(version)) ?? []
  if (!old) return skipOrFail(t, 'no Node 20 or 21: npm ci --ignore-scripts --prefix test/toolchains')
  writeFileSync(
    join(app, 'old.test.mjs'),
    `import { test } from 'node:test'
import { startCluster } from 'kubestage'
test('a pod', async () => {
  await startCluster()
})
`,
  )
  const reporters = ['spec', 'tap', 'dot']
  for (const reporter of reporters) {
    const args = ['--test', `--test-reporter=${reporter}`, 'old.test.mjs']
    const { code, stdout } = await run(old, args, { cwd: app }).catch((error) => error)
    t.equal(code, 1)
    t.match(stdout, /needs Node 22\.19 or newer; this is Node 2[01]\..* \(\//, reporter)
    t.notMatch(stdout, "'test failed'")
  }
})

/**
 * For real, from a registry, into an empty folder. Every npm with every Node takes minutes, so it is done on request;
 * else those two in which the most is different: a Node that is too old, so that another is fetched, and the oldest that does by itself.
 */
const installs = process.env.KUBESTAGE_INSTALL_MATRIX
  ? ['npm-11', 'npm-12'].flatMap((npm) => ['ours', ...otherNodes().keys()].map((node) => ({ npm, node })))
  : [
      { npm: 'npm-11', node: 'node-20' },
      { npm: 'npm-12', node: 'node-22' },
    ]
for (const { npm, node } of installs) {
  t.test(`${npm} install, with ${node} as the shell's node`, async (t) => {
    const cwd = mkdtempSync(join(folder, 'empty-'))
    const file = node === 'ours' ? process.execPath : otherNodes().get(node)
    const path = file && pathOf(join(folder, `${npm}-${node}`), { node: file, npm })
    if (!path) return skipOrFail(t, `no ${npm} with ${node}: npm ci --ignore-scripts --prefix test/toolchains`)
    const [kubectl] = findKubectls().slice(-1)
    if (!kubectl) return skipOrFail(t, 'no kubectl on this machine')
    const env = {
      ...shell,
      PATH: `${path}:${process.env.PATH}`,
      KUBECONFIG: join(cwd, '.kubestage', 'kubeconfig'),
      XDG_CACHE_HOME: join(cwd, 'cache'),
    }
    await run('npm', ['install', '--prefer-offline', tarball], { cwd, env })
    t.notOk(existsSync(join(cwd, 'node_modules', '.bin', 'node')), "the project's scripts go on with their own Node")
    if (node === 'node-20') {
      const offline = { ...env, npm_config_registry: 'http://127.0.0.1:1', npm_config_fetch_retries: '0' }
      const { code, stderr } = await run('npx', ['kubestage', 'version'], { cwd, env: offline }).catch((error) => error)
      t.equal(code, 1)
      t.match(stderr, /needs Node 22\.19 or newer; this is Node 20\..*; npm could not fetch node-/)
    }
    t.match((await run('npx', ['kubestage', 'up', '--detach', '--port=0'], { cwd, env })).stdout, /^Kubestage runs: /)
    t.teardown(() => run('npx', ['kubestage', 'down'], { cwd, env }).catch(() => {}))
    t.match((await run(kubectl.file, ['get', 'nodes'], { cwd, env })).stdout, /^node-1 +Ready/m)
    t.match((await run('npx', ['kubestage', 'down'], { cwd, env })).stdout, 'Stopped.')
  })
}
