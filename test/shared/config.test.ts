import { join } from 'node:path'
import t from 'tap'
import { controllers, isEnabled } from '../../shared/config/controller-names.ts'
import { helpText, type Program } from '../../shared/config/help.ts'
import { option, UsageError } from '../../shared/config/option.ts'
import {
  commandMap,
  duration,
  featureGates,
  flag,
  oneOf,
  port,
  text,
  textMap,
} from '../../shared/config/option-types.ts'
import { configOption, resolveOptions, type Sources } from '../../shared/config/resolve.ts'

const gates = { PodTerminationReason: true, ProbeTerminationGracePeriod: true }
const options = {
  config: configOption,
  host: option(text, { default: '127.0.0.1', help: 'Address to listen on' }),
  port: option(port, { default: 6443, help: 'Port to listen on' }),
  kubelet: option(flag, { default: true, help: 'Run a kubelet' }),
  shutdownGracePeriod: option(duration, { default: 10_000, help: 'Time for pods to end' }),
  logLevel: option(oneOf('info', 'debug'), { default: 'info', help: 'How much to log' }),
  image: option(commandMap, { default: {}, help: 'Program of an image' }),
  imagePath: option(textMap, { default: {}, help: 'Folder of an image' }),
  controllers: option(controllers, { default: ['*'], help: 'Which loops run' }),
  featureGates: option(featureGates(gates), { default: gates, help: 'Features on or off' }),
}
const resolve = async (sources: Partial<Sources>) =>
  (await resolveOptions(options, { args: [], env: {}, ...sources })).values
const defaults = { host: '127.0.0.1', port: 6443, kubelet: true, shutdownGracePeriod: 10_000, logLevel: 'info' }

t.test('flags, in every form', async (t) => {
  t.match(await resolve({}), defaults)
  t.match(await resolve({ args: ['--port', '0', '--host=::1'] }), { port: 0, host: '::1' })
  t.match(await resolve({ args: ['--kubelet=false'] }), { kubelet: false })
  t.match(await resolve({ args: ['--no-kubelet'] }), { kubelet: false })
  t.match(await resolve({ args: ['--kubelet', '--port=7'] }), { kubelet: true, port: 7 })
  t.match(await resolve({ args: ['--shutdown-grace-period', '1m30s'] }), { shutdownGracePeriod: 90_000 })
  t.same((await resolve({ args: ['--feature-gates=PodTerminationReason=false'] })).featureGates, {
    PodTerminationReason: false,
    ProbeTerminationGracePeriod: true,
  })
  const images = ['--image=nginx:*=/usr/sbin/nginx -g x', '--image', 'a@sha256:*=/a', '--image-path=busybox:*=/opt/bin']
  t.match(await resolve({ args: images }), {
    image: { 'nginx:*': ['/usr/sbin/nginx', '-g', 'x'], 'a@sha256:*': ['/a'] },
    imagePath: { 'busybox:*': '/opt/bin' },
  })
  const line = await resolveOptions(options, { args: ['pod.yaml', '--port', '1', '--', '--port'], env: {} })
  t.same(line.positionals, ['pod.yaml', '--port'])
  t.equal((await resolveOptions(options, { args: ['-h'], env: {} })).help, true)
})

t.test('flags win over variables, variables over the file, the file over defaults', async (t) => {
  const directory = t.testdir({ 'kubestage.yaml': 'port: 1\nhost: 127.0.0.2\nlogLevel: debug\n' })
  const defaultFile = join(directory, 'kubestage.yaml')
  const env = { KUBESTAGE_PORT: '2', KUBESTAGE_LOG_LEVEL: 'info' }
  t.match(await resolve({ defaultFile }), { port: 1, host: '127.0.0.2', logLevel: 'debug' })
  t.match(await resolve({ defaultFile, env }), { port: 2, host: '127.0.0.2', logLevel: 'info' })
  t.match(await resolve({ defaultFile, env, args: ['--port=3'] }), { port: 3, host: '127.0.0.2' })
  const mark = join(t.testdir({ 'c.yaml': '\ufeffport: 4\nimage: &a {x: /y}\nimagePath: *a\n' }), 'c.yaml')
  t.match(
    await resolve({ defaultFile: mark }),
    { port: 4, imagePath: { x: '/y' } },
    'with a byte order mark, and an alias',
  )
  const empty = join(t.testdir({ 'c.yaml': '# nothing yet\n' }), 'c.yaml')
  t.match(await resolve({ defaultFile: empty }), defaults, 'a file of comments')
  t.match(await resolve({ defaultFile: join(directory, 'none.yaml') }), defaults, 'the default file need not exist')
})

t.test('a mistake is told with its place and its remedy', async (t) => {
  const mistakes: [args: string[], message: string][] = [
    [['--prot=1'], 'unknown flag --prot; did you mean --port? (--help lists all)'],
    [['--shutdown', '10s'], 'unknown flag --shutdown; did you mean --shutdown-grace-period? (--help lists all)'],
    [['--nothing-like-it'], 'unknown flag --nothing-like-it (--help lists all)'],
    [['--port'], '--port needs a value: --port PORT'],
    [['--port=abc'], '--port must be a whole number from 0 to 65535, not "abc"'],
    [['--port=65536'], '--port must be a whole number from 0 to 65535, not 65536'],
    [['--kubelet=no'], '--kubelet must be true or false, not "no"'],
    [['--log-level=loud'], '--log-level must be one of info, debug, not "loud"'],
    [
      ['--shutdown-grace-period=10'],
      '--shutdown-grace-period must be a duration such as 500ms, 30s or 1m30s, not "10"',
    ],
    [
      ['--feature-gates=PodTerminationReasons=true'],
      '--feature-gates has an unrecognized feature gate: PodTerminationReasons; did you mean PodTerminationReason?',
    ],
  ]
  for (const [args, message] of mistakes) await t.rejects(resolve({ args }), new UsageError(message))
  await t.rejects(
    resolve({ env: { KUBESTAGE_PORT: 'x' } }),
    new UsageError('KUBESTAGE_PORT must be a whole number from 0 to 65535, not "x"'),
  )

  const files: [content: string, message: string][] = [
    ['host: a\nprot: 1\n', ':2: unknown key "prot"; did you mean "port"?'],
    ['host: a\n\nport: "x"\n', ':3: port must be a whole number from 0 to 65535, not "x"'],
    [
      'featureGates:\n  PodTerminationReason: 1\n',
      ':2: featureGates "PodTerminationReason" must be true or false, not 1',
    ],
    [
      'featureGates:\n  # both\n  ProbeTerminationGracePeriod: true\n  PodTerminationReasons: true\n',
      ':4: featureGates has an unrecognized feature gate: PodTerminationReasons; did you mean PodTerminationReason?',
    ],
    [
      'featureGates: {PodTerminationReason: 1}\n',
      ':1: featureGates "PodTerminationReason" must be true or false, not 1',
    ],
    ["image:\n  'a:*': /a\n  'b:*': 5\n", ':3: image "b:*" must be a command (text, or a list of texts), not 5'],
    ['- a\n', ':1: the file must be a map, not ["a"]'],
    ['host: a\nhost: b\n', ':2: "host" is set twice'],
    ["image:\n  'a:*': /a\n  'a:*': /b\n", ':3: "a:*" is set twice'],
    ['image:\n\ta: /a\n', ':2: not valid YAML (tab characters must not be used in indentation)'],
    ['---\nport: 1\n---\nport: 2\n', ':1: not valid YAML (expected a single document in the stream, but found more)'],
    ['image: *a\n', ':1: not valid YAML (unidentified alias "a")'],
    ['port:\n', ':1: port must be a whole number from 0 to 65535, not null'],
    ['port: .inf\n', ':1: port must be a whole number from 0 to 65535, not Infinity'],
    ['port: 1\r\nprot: 2\r\n', ':2: unknown key "prot"; did you mean "port"?'],
    ['nonsense: 1\n', ':1: unknown key "nonsense" (kubestage config --schema lists all)'],
    [
      'controllers:\n  - "*"\n  - -deploymnt\n',
      ':3: controllers has no controller "deploymnt"; did you mean deployment-controller?',
    ],
    [
      'controllers: ["*", -deploymnt]\n',
      ':1: controllers has no controller "deploymnt"; did you mean deployment-controller?',
    ],
    ['controllers:\n  - job\n  - 5\n', ':3: controllers must be a list of names, not ["job",5]'],
    ['host: [a\n', ':2: '],
  ]
  for (const [content, message] of files) {
    const file = join(t.testdir({ 'c.yaml': content }), 'c.yaml')
    await t.rejects(resolve({ args: ['--config', file] }), { name: 'UsageError', message: `${file}${message}` })
  }
  const folder = t.testdir()
  await t.rejects(resolve({ args: ['--config', folder] }), new UsageError(`${folder}: cannot be read: it is a folder`))
  await t.rejects(
    resolve({ args: ['--config=/none.yaml'] }),
    new UsageError('/none.yaml: no such file; --config names the config file'),
  )
})

t.test('help is written from the same table', async (t) => {
  const program: Program = { name: 'kubestage up', purpose: 'Starts a cluster.', options }
  const help = helpText(program)
  t.match(help, /^Starts a cluster\.\n\nUsage: kubestage up \[flags\]\n/)
  t.match(help, / {2}--port PORT +Port to listen on \(default 6443\)\n/)
  t.match(help, / {2}--shutdown-grace-period DURATION +Time for pods to end \(default 10s\)\n/)
  t.match(help, / {2}--kubelet +Run a kubelet \(default true\)\n/)
})

t.test('which controllers run, as kube-controller-manager would have it', async (t) => {
  const rows: [string, boolean][] = [
    ['*', true],
    ['*,-deployment', false],
    ['*,-deployment-controller', false],
    ['-deployment,*', false],
    ['deployment', true],
    ['deployment,-deployment', true],
    ['replicaset', false],
    ['-replicaset', false],
    ['-*', false],
    ['-*,deployment', true],
  ]
  for (const [text, expected] of rows) {
    t.equal(isEnabled('deployment-controller', controllers.fromText(text)), expected, text)
  }
  t.same(controllers.fromText('-replicaset', ['*']), ['*', '-replicaset'])
  t.throws(() => controllers.fromText('-deploymnt'), { message: /"deploymnt"; did you mean deployment-controller\?/ })
  t.throws(() => controllers.fromFile(['-']), { message: /must be names of controllers/ })
})
