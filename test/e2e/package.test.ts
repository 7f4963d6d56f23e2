import { execFile, spawnSync } from 'node:child_process'
import {
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
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { nodes } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { repository } from '../harness/cluster.ts'

const run = promisify(execFile)
const maxBytes = 5 * 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), 'kubestage-package-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
t.setTimeout(180_000)

const app = join(folder, 'app')
const installed = join(app, 'node_modules', 'kubestage')
const program = join(installed, 'bin', 'kubestage.mjs')
let size = 0

const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
const installedBeside = Object.keys({ ...dependencies, ...optionalDependencies })
/** What the package does not bring, and whoever checks types, or runs suites, has. */
const ofTheUser = ['@kubernetes/client-node', '@types/node', 'tap']

/** An empty folder in which the package has been installed; what it depends on is ours, so that no registry is needed. */
t.before(async () => {
  // tap gives each process that a test starts its loaders, with which the compiler does not run.
  await run('env', ['-u', 'NODE_OPTIONS', 'npm', 'pack', '--pack-destination', folder], { cwd: repository })
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  size = statSync(join(folder, tarball)).size
  const modules = join(app, 'node_modules')
  mkdirSync(installed, { recursive: true })
  await run('tar', ['xzf', join(folder, tarball), '-C', installed, '--strip-components=1'])
  for (const name of [...installedBeside, ...ofTheUser]) {
    if (!existsSync(join(repository, 'node_modules', name))) continue // of another machine
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(repository, 'node_modules', name), join(modules, name))
  }
})

const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(repository, 'node_modules', name, 'package.json'), 'utf8')).version

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
  ]) {
    t.ok(statSync(join(installed, file)).isFile(), file)
  }
  t.match(readFileSync(join(installed, 'CHANGELOG.md'), 'utf8'), `## ${version}`)
  const notices = readFileSync(join(installed, 'THIRD-PARTY-NOTICES.md'), 'utf8')
  for (const name of installedBeside) t.match(notices, `\`${name}\``)
  const licences = readFileSync(join(installed, 'dist', 'LICENCES.txt'), 'utf8')
  for (const name of ['fastify', 'pino', 'js-yaml', 'ws']) t.match(licences, `${name} ${versionOf(name)}, MIT`)
  for (const name of [...installedBeside, '@kubernetes/client-node']) t.notMatch(licences, `\n${name} `, 'not bundled')
})

/** Nodes of the machine that are older than ours start the one that comes along. */
const interpreters = new Set([
  process.execPath,
  ...['/usr/bin/node', '/usr/local/bin/node'].filter((file) => spawnSync(file, ['--version']).status === 0),
])
for (const [index, node] of [...interpreters].entries()) {
  const title = `a cluster in the background, by ${spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()} (${basename(node)})`
  t.test(title, async (t) => {
    const state = [`--state-dir=.state-${index}`]
    const up = await run(node, [program, 'up', '--detach', '--port=0', '--kubernetes-version=v1.35.9', ...state], {
      cwd: app,
    })
    t.match(up.stdout, /^Kubestage runs: https:/)
    const access = await loadKubeconfig(join(app, `.state-${index}`, 'kubeconfig'))
    const client = createRestClient({ ...access, clock: realClock })
    t.match((await client.list(nodes)).items, [{ metadata: { name: 'node-1' } }])
    await client.close()
    t.match((await run(node, [program, 'down', ...state], { cwd: app })).stdout, 'Stopped.')
  })
}

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
  const options = { strict: true, target: 'esnext', lib: ['esnext'], module: 'nodenext', types: ['node'], noEmit: true }
  const tsconfig = { compilerOptions: { ...options, skipLibCheck: false }, files: ['try.ts'] }
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify(tsconfig))
  writeFileSync(join(app, 'package.json'), '{"type":"module"}')
  const types = spawnSync(join(repository, 'node_modules', '.bin', 'tsc'), ['-p', app], { encoding: 'utf8' })
  t.equal(types.stdout, '')
  const { stdout } = await run(process.execPath, ['try.ts', join(app, 'library.db')], { cwd: app })
  t.equal(stdout, 'main Running\n')
})

t.test('the examples of test suites', async (t) => {
  const examples = join(installed, 'examples', 'test-suites')
  const suite = (...args: string[]) =>
    run(process.execPath, args, { cwd: examples }).then(
      () => 'passed',
      (error: { stdout: string }) => error.stdout,
    )
  const results = await Promise.all([suite('--test', 'reconcile.node-test.mjs'), suite('config-map.tap.mjs')])
  t.same(results, ['passed', 'passed'])
})
