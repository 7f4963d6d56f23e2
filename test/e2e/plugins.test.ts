/** `kubestage up --plugin`: files of JavaScript and TypeScript, packages, the config file, processes that start again, and mistakes. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { loadPlugins } from '../../apiserver/http/plugins/load.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { type CommandRun, programOf, startCommand } from '../harness/cluster.ts'
import { type Answer, httpsExchange } from '../harness/https-exchange.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { until } from '../harness/until.ts'

/** Adds a route that says which process serves it. */
const plugin = (path: string): string => `export default async (app) => {
  app.get('${path}', async () => String(process.pid))
  app.addHook('onSend', async (request, reply) => void reply.header('x-plugin', request.kubernetes.verb))
}
`
const typed = `import type { ClusterPlugin } from 'kubestage'
const mine: ClusterPlugin = async (app) => {
  app.get('/typed', async (request): Promise<string> => request.kubernetes.user!.name)
}
export default mine
`

function put(folder: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

function up(t: Test, cwd: string, ...flags: string[]): CommandRun {
  return startCommand(t, ['up', '--port=0', '--kubelet=false', `--state-dir=${join(cwd, 'state')}`, ...flags], { cwd })
}

/** As the administrator of the cluster in the folder. */
async function ask(
  cwd: string,
  path: string,
  kubeconfig = join('state', 'kubeconfig'),
): Promise<Answer & { text: string }> {
  const { server, ca, cert, key } = await loadKubeconfig(join(cwd, kubeconfig))
  const { hostname, port } = new URL(server)
  const answer = await httpsExchange({ host: hostname, port, path, ca, cert, key, agent: false })
  return { ...answer, text: answer.bytes.toString() }
}

async function askHttp2(cwd: string, path: string, kubeconfig: string): Promise<string> {
  const { server, ca, cert, key } = await loadKubeconfig(join(cwd, kubeconfig))
  const session = connect(server, { ca, cert, key })
  return text(session.request({ ':path': path })).finally(() => session.destroy())
}

t.test('files, a package, and keys of a config file elsewhere', async (t) => {
  const cwd = put(scratchFolder(t, 'plugins'), {
    'mine.mjs': plugin('/mine'),
    'typed.ts': typed,
    'common.cjs': 'module.exports = async (app) => void app.get("/common", async () => "common")',
    'node_modules/of-a-package/package.json':
      '{"name":"of-a-package","exports":{"import":"./index.js"},"type":"module"}',
    'node_modules/of-a-package/index.js': plugin('/package'),
    'settings/kubestage.yaml': 'plugin: [./beside.mjs]\n',
    'settings/beside.mjs': plugin('/beside'),
  })
  const given = ['./mine.mjs', 'typed.ts', 'common.cjs', 'of-a-package'].map((one) => `--plugin=${one}`)
  const first = up(t, cwd, ...given)
  await first.printed('is ready')
  t.equal((await ask(cwd, '/mine')).text, String(first.child.pid), "in the API server's own process")
  t.equal((await ask(cwd, '/typed')).text, 'kubernetes-admin')
  t.equal((await ask(cwd, '/common')).text, 'common')
  t.equal((await ask(cwd, '/package')).status, 200)
  t.match((await ask(cwd, '/api/v1/pods')).headers, { 'x-plugin': 'list' }, 'requests of the API, too')
  await first.stop()

  const flags = ['--port=0', '--http2=node', '--plugin=./mine.mjs']
  const alone = spawn(process.execPath, [programOf('apiserver'), ...flags], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => alone.kill('SIGKILL'))
  let said = ''
  alone.stdout.on('data', (text) => {
    said += text
  })
  await until(() => said.includes('"ready"'), { what: 'the API server alone' })
  const kubeconfig = join('.kubestage', 'kubeconfig')
  t.equal((await ask(cwd, '/mine', kubeconfig)).text, String(alone.pid), 'the API server without a cluster')
  t.equal(await askHttp2(cwd, '/mine', kubeconfig), String(alone.pid), 'over HTTP/2, by node:http2')

  const second = up(t, cwd, '--config=settings/kubestage.yaml')
  await second.printed('is ready')
  t.equal((await ask(cwd, '/beside')).status, 200, 'relative to the file')
  t.equal((await ask(cwd, '/mine')).status, 404)
})

t.test('in the API server alone, also when the guardian starts it again, and in the background', async (t) => {
  const noted = `import { appendFileSync } from 'node:fs'
appendFileSync(new URL('./loaded', import.meta.url), \`\${process.pid}\\n\`)
`
  const cwd = put(scratchFolder(t, 'plugins'), { 'mine.mjs': noted + plugin('/mine') })
  const loads = (): number[] => readFileSync(join(cwd, 'loaded'), 'utf8').trim().split('\n').map(Number)
  const flags = ['--nodes=1', '--plugin=./mine.mjs', '--port=0', `--state-dir=${join(cwd, 'state')}`]
  const detached = startCommand(t, ['up', '--detach', ...flags], { cwd })
  t.teardown(() => startCommand(t, ['down', `--state-dir=${join(cwd, 'state')}`], { cwd }).ended)
  t.equal(await detached.ended, 0, detached.output())
  const [server = 0, ...others] = loads()
  t.same(others, [], 'one process has loaded it: neither the command nor the kubelet')
  t.equal((await ask(cwd, '/mine')).text, String(server))
  process.kill(server, 'SIGKILL')
  await until(() => loads().length === 2, { what: 'the next API server to load it' })
  const next = await until(
    () =>
      ask(cwd, '/mine')
        .then(({ text }) => text)
        .catch(() => undefined),
    { what: 'an answer' },
  )
  t.equal(next, String(loads()[1]))
})

t.test('a plugin that cannot be loaded is named, with the line', async (t) => {
  const cwd = put(scratchFolder(t, 'plugins'), {
    'throws.mjs': "\nthrow new Error('no licence')\n",
    'syntax.mjs': 'export default async (app) => {\n  app.get(\n}\n',
    'syntax.ts': 'export default async (app: unknown) => {\n  app.get(\n}\n',
    'imports.mjs': "import 'not-there'\n",
    'text.mjs': "export default 'text'\n",
    'nothing.mjs': 'export const plugin = async () => {}\n',
    'enum.ts': 'enum Colour { red }\nexport default async () => Colour.red\n',
    'node_modules/broken/package.json': '{"name":"broken","main":"./not-there.js"}',
  })
  const must = 'must export a function as default (export default async (app) => { … }); it exports'
  const wrong: Readonly<Record<string, string | RegExp>> = {
    './none.mjs': `: ${join(cwd, 'none.mjs')} does not exist`,
    'no-package': `: neither ${join(cwd, 'no-package')} nor a package of this name exists`,
    '@scope/none/file.js': `: neither ${join(cwd, '@scope/none/file.js')} nor a package of this name exists`,
    broken: /^ cannot be loaded: /,
    './throws.mjs': ` cannot be loaded: no licence (${join(cwd, 'throws.mjs')}:2)`,
    './syntax.mjs': ` cannot be loaded: Unexpected token '}' (${join(cwd, 'syntax.mjs')}:3)`,
    './syntax.ts': ` cannot be loaded: Expression expected (${join(cwd, 'syntax.ts')}:3)`,
    './imports.mjs': /^ cannot be loaded: Cannot find package 'not-there'/,
    './text.mjs': ` ${must} default`,
    './nothing.mjs': ` ${must} plugin`,
    './enum.ts': /^ cannot be loaded: .*enum/i,
  }
  for (const [name, message] of Object.entries(wrong)) {
    const error = await loadPlugins([name], { folder: cwd, clock: realClock }).catch((error) => error)
    t.type(error, ConfigError, name)
    const [start, rest] = [error.message.slice(0, 7 + name.length), error.message.slice(7 + name.length)]
    t.equal(start, `plugin ${name}`)
    if (typeof message === 'string') t.equal(rest, message, name)
    else t.match(rest, message, name)
    t.notMatch(rest, '\n', 'one line')
  }
})

t.test('a start with such a plugin ends with one sentence', async (t) => {
  const cwd = put(scratchFolder(t, 'plugins'), {
    'throws.ts': "export default async (app: unknown) => {\n  throw new Error('no app')\n}\n",
    'taken.mjs': "export default async (app) => void app.get('/version', async () => '')\n",
    'kubestage.yaml': 'plugin: mine.mjs\n',
    'empty.yaml': '',
  })
  const ends = async (...flags: string[]): Promise<[unknown, string]> => {
    const command = up(t, cwd, ...flags)
    return [await command.ended, command.output()]
  }
  const [empty, threw] = ['--config=empty.yaml', 'plugin ./throws.ts threw when it was loaded: no app (throws.ts:2)\n']
  t.same(await ends(empty, '--plugin=./throws.ts'), [1, `kubestage: ${threw}`])
  t.same(await ends(empty, '--plugin=./throws.ts', '--detach'), [1, `kubestage: ${threw}`])
  const taken = 'plugin ./taken.mjs adds a route that exists already: GET /version\n'
  t.same(await ends(empty, '--plugin=./taken.mjs'), [1, `kubestage: ${taken}`])
  t.same(await ends(empty, '--plugin='), [2, 'kubestage: --plugin must be a text, not ""\n'])
  const list = 'kubestage.yaml:1: plugin must be a list of names, not "mine.mjs"\n'
  t.same(await ends(), [2, `kubestage: ${list}`])
})
