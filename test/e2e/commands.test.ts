import { spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import type { ConfigMap } from '../../shared/api/types.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { configMaps, nodes, pods } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { cli, startCommand } from '../harness/cluster.ts'
import { followPod, podOf } from '../harness/pods.ts'
import { processesWith } from '../harness/processes.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { until } from '../harness/until.ts'

const folder = scratchFolder(t, 'commands')
const namespace = 'default'
t.setTimeout(480_000)

/** Runs a command to its end. */
async function run(t: Test, ...args: string[]): Promise<{ code: number | string; output: string }> {
  const command = startCommand(t, args)
  return { code: await command.ended, output: command.output() }
}

t.test('a cluster in the background, and all that can be asked of it', async (t) => {
  const stateDir = join(folder, 'one')
  const here = `--state-dir=${stateDir}`
  const ask = (...args: string[]) => run(t, ...args, here)
  const json = async (...args: string[]) => JSON.parse((await ask(...args, '-o', 'json')).output)
  t.teardown(() => run(t, 'down', here))

  t.match(await ask('status'), { code: 1, output: /^state +stopped\n/ })
  t.match(await ask('journal'), { code: 1, output: /^kubestage: no cluster runs in .*: start one with kubestage up, / })
  t.match(await ask('down'), { code: 0, output: /^Nothing runs in / })

  const up = await ask('up', '-d', '--port=0', '--journal=100', '--image=there:*=true', '--pull-images=never')
  t.match(up, { code: 0, output: /^Kubestage runs: https:\/\/127.0.0.1:\d+ .*\n\n {2}export KUBECONFIG=/ })
  const status = await json('status')
  t.match(status, { state: 'running', node: 'node-1', storage: `sqlite:${stateDir}/state.db`, startedAt: /Z$/ })
  t.ok(status.memoryBytes > 20e6 && status.kubeletMemoryBytes > 20e6)
  t.match(await ask('up', '-d', '--port=0'), { code: 1, output: /^kubestage: already running with state folder/ })

  const client = createRestClient({ ...(await loadKubeconfig(join(stateDir, 'kubeconfig'))), clock: realClock })
  t.teardown(() => client.close())
  t.equal((await client.list(nodes)).items.length, 1)
  const create = (name: string) => client.create<ConfigMap>(configMaps, { metadata: { name } }, { namespace })
  await create('kept')

  t.match(await json('journal', '--verb=create', '--resource=configmaps', '--user=kubernetes-admin'), [
    { code: 201, path: '/api/v1/namespaces/default/configmaps', namespace },
  ])
  t.match(await json('journal', '--name=kept,none'), [{ verb: 'create', name: 'kept' }])
  t.match((await ask('journal', '--name=none')).output, /^AT +USER +VERB +CODE +MS +PATH\n$/)
  const file = join(folder, 'snapshot.json')
  t.match(await ask('snapshot', file), { code: 0, output: /^\d+ objects in / })
  t.match(await ask('snapshot', join(folder, 'nowhere', 's')), {
    code: 1,
    output: /cannot be written: the folder .* does not exist/,
  })
  t.equal((await ask('snapshot')).output, 'kubestage: usage: kubestage snapshot FILE\n')

  const shell = `eval "$(${process.execPath} ${cli} env --state-dir ${stateDir})"; kubestage version`
  t.match(spawnSync('sh', ['-c', shell], { encoding: 'utf8' }), { status: 0, stdout: /^kubestage \d/ })
  t.match((await ask('env', '--shell=fish')).output, `set -gx KUBECONFIG ${join(stateDir, 'kubeconfig')}\n`)
  const fault = await json('fault', 'add', 'verb: create, resource: configmaps, times: 1, then: {status: 503}')
  t.match(fault, { id: 1, hits: 0 })
  await t.rejects(create('surplus'), { code: 503 })
  await create('surplus')
  t.match(await json('fault', 'list'), [{ id: 1, hits: 1 }])
  t.match(await ask('fault', 'add', 'then: {explode: true}'), {
    code: 2,
    output: /then must be a map with one of status/,
  })
  t.match(await ask('fault', 'remov', '9'), { code: 2, output: /did you mean remove\?/ })
  t.match(await ask('journal', '--verb=gett'), { code: 2, output: /has an unknown verb "gett"; did you mean get\?/ })
  t.match(await ask('fault', 'remove', 'a'), {
    code: 2,
    output: /no fault with ID "a"; kubestage fault list shows them/,
  })
  t.match(await ask('fault', 'remove', '9'), { code: 1, output: /faults.kubestage.dev "9" not found/ })
  t.match(await ask('fault', 'clear'), { code: 0, output: 'ID   HITS   RULE\n' })

  t.match(await ask('restore', file), { code: 0, output: /^0 objects created, \d+ changed, \d+ deleted\n/ })
  const names = async () =>
    (await client.list<ConfigMap>(configMaps, { namespace })).items.map(({ metadata }) => metadata.name)
  t.same(await names(), ['kept', 'kube-root-ca.crt'])
  writeFileSync(join(folder, 'none.json'), '{}')
  t.match(await ask('restore', join(folder, 'none.json')), {
    code: 2,
    output: 'kubestage: not a valid snapshot of a cluster\n',
  })
  writeFileSync(join(folder, 'half.json'), '{\n"entries": [')
  t.match(await ask('restore', join(folder, 'half.json')), {
    code: 2,
    output: /^kubestage: \S+half.json is not a valid snapshot; kubestage snapshot FILE makes one\n$/,
  })
  t.match(await ask('restore', join(folder, 'absent.json')), {
    code: 2,
    output: /absent.json: no such file\n$/,
  })
  t.match(await json('reset'), { deleted: Number })
  t.same(await names(), ['kube-root-ca.crt'])

  const complete = async (...words: string[]) => (await run(t, 'completion', 'words', ...words)).output
  t.equal(await complete('node', here, 'shutdown', 'no'), 'node-1\n', 'names of the cluster')
  t.match(await json('clock'), { scale: 1, now: /^20.*Z$/, movedMs: 0 })
  t.match(await json('clock', 'advance', '90s'), { movedMs: 90_000 })
  t.match(await ask('clock'), { code: 0, output: /^20.*Z, moved by 90 s\n$/ })
  t.match(await ask('clock', 'advance', 'soon'), {
    code: 2,
    output: /^kubestage: advance must be a duration such as 500ms/,
  })
  t.match(await ask('clock', 'forward', '1s'), { code: 2, output: /usage: kubestage clock \[advance DURATION\]/ })
  t.match((await ask('logs', 'kubelet')).output, /"msg":"ready"/)
  t.match(await ask('logs', 'nonsense'), {
    code: 2,
    output: /unknown argument "nonsense" of kubestage logs \(kubestage logs --help lists all\)/,
  })
  const following = startCommand(t, ['journal', '--follow', here])
  const followed = following.printed('/api/v1/namespaces/default/configmaps').finally(() => {
    isFollowed = true
  })
  // It may need a moment to begin.
  let isFollowed = false
  while (!isFollowed) await create('followed').catch(() => {})
  await followed
  await following.stop()

  const waiting = podOf({ name: 'waiting', command: [] })
  waiting.spec.containers[0]!.image = 'mine:1'
  await client.create(pods, waiting, { namespace })
  const pod = await followPod(client, { namespace, name: 'waiting' })
  await pod.until(({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImagePull', 'to wait')
  t.match(await ask('image', 'which', 'mine:1'), { code: 1, output: /ErrImagePull: image "mine:1" stands for no/ })
  t.match((await ask('image', 'list')).output, /^there:\* +true +flag\n/m)
  t.match(await ask('image', 'remove', 'busybox'), { code: 1, output: /"busybox" is built in/ })
  t.match(await run(t, 'image', 'add', 'mine:*', here, '--', 'sleep', '1000'), {
    code: 0,
    output: 'mine:* is known (node-1)\n',
  })
  await pod.until(({ status }) => status?.phase === 'Running', 'to run at once')
  t.match(await json('image', 'which', 'mine:1'), { command: ['sleep', '1000'], program: /\/sleep$/ })
  const manifest = join(folder, 'pod.json')
  writeFileSync(manifest, JSON.stringify({ ...waiting, apiVersion: 'v1', kind: 'Pod' }))
  t.match(await ask('image', 'check', manifest), { code: 0, output: /Pod\/waiting +\S+ +mine:1 +\S+\/sleep\n/ })
  t.match(await ask('image', 'remove', 'mine:*'), { code: 0 })
  t.match(await ask('image', 'check', manifest), { code: 1, output: / ErrImagePull\n/ })

  await t.test('the same by its kubeconfig alone, as docker-compose leaves it', async (t) => {
    const folder = t.testdir({ state: { kubeconfig: readFileSync(join(stateDir, 'kubeconfig'), 'utf8') } })
    const found = `--state-dir=${join(folder, 'state')}`
    const named = [`--kubeconfig=${join(folder, 'state', 'kubeconfig')}`, `--state-dir=${folder}`]
    for (const place of [[found], named]) {
      t.match(await run(t, 'status', ...place), { code: 0, output: /^state +running\n.*nodes +1 of 1 ready\n$/s })
      t.match((await run(t, 'image', 'list', ...place)).output, /^there:\* +true +configuration\n/m)
      t.match(await run(t, 'fault', 'list', ...place), { code: 0, output: 'ID   HITS   RULE\n' })
      t.match((await run(t, 'env', ...place)).output, `export KUBECONFIG=${join(folder, 'state', 'kubeconfig')}\n`)
    }
    t.match(await run(t, 'node', 'pressure', 'node-1', 'memory', found), { code: 0 })
    const isListed = async () => (await run(t, 'node', 'list', ...named)).output.includes('MemoryPressure')
    await until(isListed, { what: 'the pressure in the list of nodes' })
    for (const [word, instead] of [
      ['logs', /its log is where it was started/],
      ['down', /stop it where it was started/],
    ] as const)
      t.match(await run(t, word, found), { code: 1, output: instead })
    t.match(await run(t, 'up', '-d', '--port=0', found), {
      code: 1,
      output: /belongs to another running cluster: stop that, or/,
    })
    writeFileSync(join(folder, 'state', 'kubeconfig'), '{{{')
    t.match(await run(t, 'clock', found), {
      code: 2,
      output: /^kubestage: \S+kubeconfig is not a valid kubeconfig: .*\n$/,
    })
    t.match(await run(t, 'clock', `--kubeconfig=${folder}/none`), { code: 2, output: /none: no such file or folder/ })
  })

  await create('stays').catch(() => {})
  t.match(await ask('down'), { code: 0, output: 'Stopped.\n' })
  const entries = readdirSync(stateDir, { recursive: true, withFileTypes: true })
  t.same(
    entries.filter((entry) => entry.isFIFO() || entry.isSocket()).map(({ name }) => name),
    [],
    'no pipe',
  )
  t.same(processesWith(stateDir), [], 'nothing is left')
  const again = await json('up', '-d', '--port=0', '--kubelet=false')
  t.match(again, { url: /^https:/, pid: Number, kubeconfig: join(stateDir, 'kubeconfig') })
  const later = createRestClient({ ...(await loadKubeconfig(join(stateDir, 'kubeconfig'))), clock: realClock })
  t.match(await later.get(configMaps, { namespace, name: 'stays' }), { metadata: { name: 'stays' } }, 'state stays')
  await later.close()
  t.match(await ask('down'), { code: 0 })
})

t.test('what cannot start in the background says why', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  const taken = await run(t, 'up', '--detach', `--port=${port}`, `--state-dir=${join(folder, 'two')}`)
  t.match(taken, { code: 1, output: new RegExp(`^kubestage: port ${port} on 127.0.0.1 is in use by another program;`) })
  t.match(await run(t, 'doctor', `--port=${port}`), { code: 1, output: /port +bad +127.0.0.1:\d+ cannot be used/ })
  server.close()
  const findings = JSON.parse((await run(t, 'doctor', '--port=0', '-o', 'json')).output)
  t.ok(findings.every(({ state }: { state: string }) => state === 'good' || state === 'degraded'))
  const env = { ...process.env, PATH: folder }
  const withoutPrograms = spawnSync(process.execPath, [cli, 'doctor', '--port=0'], { env, encoding: 'utf8' })
  t.match(withoutPrograms, { status: 1, stdout: /perl +bad +not found on PATH\n +install perl/ })
})

t.test('a config file may say what other commands want to know', async (t) => {
  const config = join(folder, 'kubestage.yaml')
  writeFileSync(config, `image: {'a': /bin/true}\nstateDir: ${join(folder, 'three')}\n`)
  t.match(await run(t, 'status', '--config', config), { code: 1, output: new RegExp(join(folder, 'three')) })
  writeFileSync(config, 'output: json\n')
  t.match(await run(t, 'status', '--config', config), {
    code: 2,
    output: /:1: unknown key "output" \(kubestage config/,
  })
  writeFileSync(config, 'tlsSan: [a\nport: 1\n')
  t.match(await run(t, 'status', '--config', config), { code: 2, output: /kubestage.yaml:2: not valid YAML \(.+\)/ })
  writeFileSync(config, 'imagge: {}\n')
  t.match(await run(t, 'status', '--config', config), {
    code: 2,
    output: /unknown key "imagge"; did you mean "image"\?/,
  })
})

t.test('config says how many nodes up would start', async (t) => {
  const nodes = async (...args: string[]) => {
    const { code, output } = await run(t, 'config', '-o', 'json', ...args)
    return code === 0 ? Number(JSON.parse(output).nodes.value) : output.trim()
  }
  t.equal(await nodes(), 1)
  t.equal(await nodes('--simulated-nodes=3'), 0, 'the default goes by the simulated nodes')
  t.equal(await nodes('--simulated-nodes=3', '--nodes=2'), 2)
  t.equal(await nodes('--kubelet=false'), 0)
  t.match(await nodes('--kubelet=false', '--nodes=1'), /kubelet=false means .*leave out --nodes/, 'refused, as by up')
})

t.test('where each value is from', async (t) => {
  const config = join(folder, 'values.yaml')
  writeFileSync(config, 'port: 7000\nnodeName: mine\nshutdownGracePeriod: 90s\n')
  const { output } = await run(t, 'config', '--config', config, '--port=0', '-o', 'json')
  t.match(JSON.parse(output), {
    port: { value: '0', origin: 'flag' },
    nodeName: { value: 'mine', origin: 'config file' },
    shutdownGracePeriod: { value: '90s', origin: 'config file' },
    host: { value: '127.0.0.1', origin: 'default' },
  })
  t.match(
    (await run(t, 'config', '--config', config)).output,
    /^KEY +VALUE +FROM\n(.*\n)*nodeName +mine +config file \S+values.yaml\n/,
  )
  const schema = JSON.parse((await run(t, 'config', '--schema')).output)
  const isValid = new Ajv2020({ strict: false, logger: false }).compile(schema)
  t.ok(
    isValid({
      port: 7000,
      storage: 'sqlite:a.db',
      image: { a: ['b', 'c'], d: 'e' },
      featureGates: { PodTerminationReason: true },
    }),
  )
  for (const wrong of [
    { port: 'x' },
    { portt: 1 },
    { storage: 'floppy' },
    { image: { a: 1 } },
    { shutdownGracePeriod: 'soon' },
  ]) {
    t.notOk(isValid(wrong), JSON.stringify(wrong))
  }
})

t.test('images of a configuration', async (t) => {
  const config = join(folder, 'images.yaml')
  const here = [`--state-dir=${join(folder, 'none')}`, '--config', config]
  const tell = (...words: string[]) => run(t, 'image', ...words)
  writeFileSync(config, '# images\nimage:\n  sleeper: sleep 5\n')
  t.match(await tell('list', ...here), { code: 0, output: /sleeper +sleep 5 +config file\n.*pause .*built in\n/s })
  t.match(await tell('which', 'sleeper', ...here), { code: 0, output: /program +\S+\/sleep\n$/ })
  t.match(await tell('add', 'a', ...here, '--', 'a'), { code: 1, output: /no cluster runs in .* with --save\n$/ })
  t.match(await tell('add', 'a:*', '--save', ...here, '--', 'sh', '-c', 'x y'), { code: 0 })
  t.equal(readFileSync(config, 'utf8'), `# images\nimage:\n  'a:*': ["sh","-c","x y"]\n  sleeper: sleep 5\n`)
  t.match(await tell('add', `b:*=sh -c "x y"`, ...here, '--save'), { code: 0 })
  t.match(readFileSync(config, 'utf8'), `  'b:*': ["sh","-c","x y"]\n`, 'in the form of --image')
  t.match(await tell('add', 'b:*=', ...here), { code: 2, output: /PATTERN=COMMAND must be of the form/ })
  t.match(await tell('add', 'b:*', ...here), { code: 2, output: /kubestage image add 'b:\*' -- \/path\/to\/program/ })
  const manifest = join(folder, 'script.json')
  const mounted = { volumeMounts: [{ name: 'v', mountPath: '/app' }] }
  const containers = [
    { name: 'absent', image: 'web', command: ['sh', '/app/none.sh'] },
    { name: 'script', image: 'web', command: ['sh', '/app/none.sh'], ...mounted },
    { name: 'program', image: 'web', command: ['/app/run'], ...mounted },
  ]
  writeFileSync(
    manifest,
    JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers } }),
  )
  const { code, output } = await tell('check', manifest, ...here)
  t.equal(code, 0, 'nobody knows for sure')
  t.match(output, /absent +web +\S+\/sh +no \/app\/none\.sh\?\n.*script +web +\S+\/sh\n.*program +web +\/app\/run\n/)
  t.match(output, /^kubestage: \/app\/none\.sh is not on this machine, nor is a volume mounted there$/m)
  t.match(await tell('wich', ...here), {
    code: 2,
    output: /unknown argument "wich" of kubestage image; did you mean which\?/,
  })
})

/** What each shell completes of `up --det`, `status -o y` and `restore snap`; its own machinery is called as a key press calls it. */
const shells: Readonly<Record<string, string>> = {
  bash: `
    eval "$(kubestage completion bash)"
    try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _kubestage; echo "\${COMPREPLY[@]:-$(compgen -f -- "\${!#}")}"; }
    try kubestage up --det; try kubestage status -o y; try kubestage restore snap`,
  zsh: `
    compdef() { :; }
    eval "$(kubestage completion zsh)"
    compadd() { local -a all; all=(\${(P)argv[-1]}); (( $#all )) && print -l -- $all; }
    _files() { print -l -- \${words[-1]}*; }
    try() { words=("$@"); CURRENT=$#; _kubestage; }
    try kubestage up --det; try kubestage status -o y; try kubestage restore snap`,
  fish: `
    kubestage completion fish | source
    for line in 'kubestage up --det' 'kubestage status -o y' 'kubestage restore snap'; complete -C $line; end`,
}

t.test('words are completed', async (t) => {
  const complete = async (...words: string[]) =>
    (await run(t, 'completion', 'words', ...words)).output.trim().split('\n')
  t.same(await complete('st'), ['status', 'storage'])
  t.same(await complete('storage', ''), ['copy'])
  t.same(await complete('storage', 'copy', 's'), ['snapshot:', 'sqlite:'])
  t.same(await complete('status', '--st'), ['--state-dir'])
  t.same(await complete('fault', 'r'), ['remove'])
  t.same(await complete('nonsense', ''), [''])
  t.same(await complete('vers'), ['version'])
  t.same(await complete('status', '-o', 'j'), ['json'])
  t.same(await complete('status', '--output=j'), ['--output=json'])
  t.same(await complete('status', '--output', '=', 'j'), ['json'], 'as bash divides it')
  t.same(await complete('up', '--kubelet='), ['--kubelet=true', '--kubelet=false'])
  t.same(await complete('node', 'pressure', 'node-1', 'ino'), ['inodes'])
  t.same(await complete('restore', ''), [''], 'files are the shell’s own business')
  t.same(await complete('status', '--s'), ['--state-dir'])
  const folder = t.testdir({ kubestage: `#!/bin/sh\nexec '${process.execPath}' '${cli}' "$@"\n`, 'snapshot.json': '' })
  chmodSync(join(folder, 'kubestage'), 0o755)
  for (const [shell, script] of Object.entries(shells)) {
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
    const { error, stdout } = spawnSync(shell, ['-c', script], { cwd: folder, env, encoding: 'utf8' })
    if (error) t.comment(`no ${shell} on this machine`)
    else t.equal(stdout, '--detach\nyaml\nsnapshot.json\n', shell)
  }
  t.match(await run(t, 'completion', 'tcsh'), {
    code: 2,
    output: /usage: kubestage completion \(bash \| zsh \| fish\)/,
  })
})

t.test('each command explains itself', async (t) => {
  const [, first = '', more] = (await run(t, 'up', '--help')).output.split(/^(?:Flags|More flags):$/m)
  t.equal(first.match(/^ {2}--/gm)?.length, 10, 'the flags that people need first')
  t.match(more, '--max-connections')
  const overview = (await run(t, 'help')).output
  t.same(await run(t, '-v'), await run(t, '--version'))
  const commands = [...overview.matchAll(/^ {2}(\S+) {2,}/gm)].map(([, name]) => name ?? '')
  t.ok(commands.length > 15)
  t.equal((await run(t, 'help', 'down')).output, (await run(t, 'down', '--help')).output)
  const readme = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'commands.md'), 'utf8')
  await Promise.all(
    commands
      .filter((name) => name !== 'help')
      .map(async (name) => {
        t.match(await run(t, name, '--help'), { code: 0, output: new RegExp(`[Uu]sage: kubestage ${name}`) })
        t.match(readme, new RegExp(`\`kubestage ${name}\\b`), `docs/commands.md tells of ${name}`)
      }),
  )
})
