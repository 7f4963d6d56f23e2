import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { cli, repository, startCommand } from '../harness/cluster.ts'
import { processesWith } from '../harness/processes.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { mountSmallDisk } from '../harness/small-disk.ts'
import { until } from '../harness/until.ts'

const folder = scratchFolder(t, 'bad-input')
t.setTimeout(300_000)
t.jobs = 3 // much of the time they wait for a command

async function run(t: Test, ...args: string[]): Promise<{ code: number | string; output: string }> {
  const command = startCommand(t, args)
  return { code: await command.ended, output: command.output() }
}

/** One sentence, exit code 1, and nothing of it runs. */
async function refusal(t: Test, stateDir: string, ...args: string[]): Promise<string> {
  const { code, output } = await run(t, ...args, `--state-dir=${stateDir}`)
  t.equal(code, 1, output)
  t.match(output, /^kubestage: [^\n]+\n$/, 'one sentence')
  t.same(processesWith(stateDir), [], 'nothing half-started stays')
  return output
}

t.test('a disk that is full, at the first file, at the storage, and before anything', async (t) => {
  for (const [size, sentence] of [
    ['8k', /cannot write to state folder .*: the disk is full; choose another folder with --state-dir/],
    ['100k', /storage file .*state.db cannot be written: the disk is full; make room, or name another with --storage/],
  ] as const) {
    const place = join(folder, `full-${size}`)
    if (!mountSmallDisk(place, `size=${size}`)) return skipOrFail(t, 'this machine lets us mount nothing')
    t.match(await refusal(t, join(place, 'state'), 'up', '-d', '--port=0'), sentence)
  }
  const place = join(folder, 'full')
  mountSmallDisk(place, 'size=4k')
  writeFileSync(join(place, 'all'), 'x'.repeat(4096))
  for (const way of [['up'], ['up', '-d']]) {
    t.match(await refusal(t, join(place, 'state'), ...way, '--port=0'), /: the disk is full; choose another folder/)
  }
})

t.test('a disk that fills while a cluster runs ends nothing', async (t) => {
  const place = join(folder, 'filling')
  if (!mountSmallDisk(place, 'size=3m')) return skipOrFail(t, 'this machine lets us mount nothing')
  const stateDir = join(place, 'state')
  const here = `--state-dir=${stateDir}`
  t.match(await run(t, 'up', '-d', '--port=0', '--kubelet=false', '--log-level=trace', here), { code: 0 })
  t.teardown(() => run(t, 'down', here))
  const filler = join(place, 'filler')
  execFileSync('sh', ['-c', `cat /dev/zero > ${filler} || true`], { stdio: 'ignore' })
  t.match(await run(t, 'clock', here), { code: 0 }, 'reads go on')
  rmSync(filler)
  t.match(await run(t, 'status', here), { code: 0 })
  t.match(await run(t, 'down', here), { code: 0, output: 'Stopped.\n' })
})

t.test('a state folder that cannot be written', async (t) => {
  const place = join(folder, 'read-only')
  if (!mountSmallDisk(place, 'ro')) return skipOrFail(t, 'this machine lets us mount nothing')
  const isFile = join(folder, 'file')
  writeFileSync(isFile, '')
  for (const [stateDir, why] of [
    [join(place, 'state'), 'the file system is read-only'],
    [isFile, 'it is a file'],
    [join(isFile, 'below'), 'it is a file'],
    ['/proc/state', 'no folder can be made there'],
  ] as const) {
    const sentence = `cannot write to state folder ${stateDir}: ${why}; choose another folder with --state-dir`
    const ways = [['up'], ['up', '-d']]
    const said = await Promise.all(ways.map((way) => run(t, ...way, '--port=0', `--state-dir=${stateDir}`)))
    for (const { code, output } of said) t.same({ code, output }, { code: 1, output: `kubestage: ${sentence}\n` })
    t.same(processesWith(stateDir), [], 'nothing half-started stays')
  }
  const disk = join(folder, 'read-only-later')
  mountSmallDisk(disk, 'size=1m')
  writeFileSync(join(disk, 'state.db'), '')
  execFileSync('mount', ['-o', 'remount,ro', disk])
  for (const name of ['state.db', 'none.db']) {
    const at = [`--storage=sqlite:${join(disk, name)}`, `--state-dir=${join(folder, 'fine')}`]
    const { code, output } = await run(t, 'up', '--port=0', '--kubelet=false', ...at)
    t.equal(code, 1)
    t.match(output, `${name} cannot be written: the file system is read-only; name another with --storage`)
  }
  t.match(await run(t, 'envtest-assets', '--assets-dir=/proc/assets'), {
    code: 1,
    output:
      'kubestage: cannot write to /proc/assets: no such file or folder; choose another folder with --assets-dir\n',
  })
  t.match(await run(t, 'up', '-d', '--state-dir='), {
    code: 2,
    output: 'kubestage: --state-dir must be the path of a folder, not ""\n',
  })
})

t.test('damaged files', async (t) => {
  const stateDir = join(folder, 'damaged')
  const here = `--state-dir=${stateDir}`
  const start = ['up', '-d', '--port=0', '--kubelet=false']
  t.match(await run(t, ...start, here), { code: 0 })
  writeFileSync(join(stateDir, 'kubeconfig'), '{{{')
  t.match(await run(t, 'clock', here), { code: 0 }, 'the kubeconfig is for others')
  t.match(await run(t, 'down', here), { code: 0 })

  for (const name of ['ca.crt', 'admin.key', 'apiserver.crt', 'sa.key']) {
    const key = join(stateDir, 'pki', name)
    const whole = readFileSync(key)
    writeFileSync(key, whole.subarray(0, 100))
    t.match(await refusal(t, stateDir, ...start), `${join(stateDir, 'pki', name.split('.')[0]!)}.`)
    t.equal(readFileSync(key).length, 100, 'it is left as it is')
    writeFileSync(key, whole)
  }
  writeFileSync(join(stateDir, 'lock'), 'no JSON')
  writeFileSync(join(stateDir, 'running.json'), '{')
  t.match(await run(t, ...start, here), { code: 0 }, 'what can be made anew is made anew')
  t.match(readFileSync(join(stateDir, 'kubeconfig'), 'utf8'), 'current-context: kubestage')
  t.equal(readFileSync(join(stateDir, 'kubeconfig.damaged'), 'utf8'), '{{{')
  t.match(readFileSync(join(stateDir, 'logs', 'up.log'), 'utf8'), /kubeconfig was damaged and has been written again/)
  t.match(await run(t, 'clock', here), { code: 0 })
  t.match(await run(t, 'down', here), { code: 0 })

  const database = join(stateDir, 'state.db')
  const anew = 'move it away to begin with an empty cluster, or name another with --storage'
  const whole = readFileSync(database)
  writeFileSync(database, whole.subarray(0, 3000))
  t.match(await refusal(t, stateDir, ...start), `storage file ${database} is damaged; ${anew}`)
  writeFileSync(database, 'no database, but long enough to have been one')
  t.match(await refusal(t, stateDir, ...start), `storage file ${database} is not a valid SQLite database; ${anew}`)
  t.equal(readFileSync(database, 'utf8').length, 45, 'it is left as it is')
  t.notOk(existsSync(join(stateDir, 'lock')))
})

t.test('what never ends, or never begins, in the place of a file', async (t) => {
  const pipe = join(folder, 'pipe')
  const loop = join(folder, 'loop')
  execFileSync('mkfifo', [pipe])
  symlinkSync(loop, loop)
  const output = join(folder, 'out.svg')
  const commands = [
    ...['ui', 'restore'].map((command) => [command]),
    ['export', '--svg', `--out=${output}`],
    ['image', 'check', '--config'],
    ['clock', '--kubeconfig'],
    ['rehearse', '--state-dir', join(folder, 'none')],
    ['record', '--append'],
  ]
  for (const file of [pipe, '/dev/zero', loop])
    for (const command of commands) {
      const { code, output } = await run(t, ...command, file)
      t.ok(code === 1 || code === 2, `${command.join(' ')} ${file}: ${code}`)
      t.match(output, /^kubestage: [^\n]+\n$/, `${command.join(' ')} ${file}: one sentence`)
    }
  t.match(
    (await run(t, 'up', '--port=0', `--state-dir=${loop}`)).output,
    /its links lead back to themselves; .*choose another folder/,
  )
  for (const name of ['pki/ca.crt', 'logs/apiserver.log', 'kubeconfig', 'lock', 'running.json']) {
    const stateDir = mkdtempSync(join(folder, 'piped-'))
    mkdirSync(join(stateDir, dirname(name)), { recursive: true })
    execFileSync('mkfifo', [join(stateDir, name)])
    t.match(
      await refusal(t, stateDir, 'up', '--port=0', '--nodes=0'),
      `${join(stateDir, name)}: it is a pipe, a socket`,
    )
    const { code } = await run(t, 'status', `--state-dir=${stateDir}`)
    t.not(code, 0, `status with ${name}`)
  }
})

t.test('limits of the shell are named', async (t) => {
  if (process.getuid?.() !== 0) return skipOrFail(t, 'only root can be another user')
  const place = mkdtempSync(join(tmpdir(), 'kubestage-limited-'))
  t.teardown(() => rmSync(place, { recursive: true, force: true }))
  chmodSync(place, 0o777)
  for (const [limit, named] of [
    ['--nproc=10', '10 processes (ulimit -u)'],
    ['--as=2000000000', '1907 MB of addresses (ulimit -v)'],
    ['--nofile=25', '25 open files (ulimit -n)'],
  ] as const) {
    const up = [process.execPath, cli, 'up', '-d', '--port=0', '--nodes=0']
    const args = ['--reuid=54321', '--regid=54321', '--clear-groups', 'prlimit', limit, ...up]
    const env = { ...process.env, HOME: place }
    const { status, stderr } = spawnSync('setpriv', [...args, `--state-dir=${join(place, 'state')}`], {
      encoding: 'utf8',
      env,
    })
    t.not(status, 0, limit)
    t.match(
      stderr.split('\n').findLast((line) => line.startsWith('kubestage:')),
      named,
    )
  }
})

t.test('a cluster whose folder is removed ends: no command would find it any more', async (t) => {
  const stateDir = join(folder, 'removed')
  const cluster = startCommand(t, ['up', '--port=0', `--state-dir=${stateDir}`])
  await cluster.printed('is ready')
  // Not rmSync, which stops where the cluster, which ends already, has been quicker.
  execFileSync('rm', ['-rf', stateDir])
  t.equal(await cluster.ended, 0)
  t.match(cluster.output(), /kubestage: the state folder \S+ is gone, so this cluster ends\n/)
  t.same(processesWith(stateDir), [])
})

t.test('a port that another program has', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const sentence = `port ${port} on 127.0.0.1 is in use by another program; choose another with --port (0 takes a free one)`
  for (const way of [['up'], ['up', '-d']]) {
    t.match(await refusal(t, join(folder, 'port'), ...way, `--port=${port}`), sentence)
  }
})

t.test('the port of the kubelet that another program has', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const said = await refusal(t, join(folder, 'kubelet-port'), 'up', '--port=0', `--kubelet-port=${port}`)
  t.match(said, `port ${port} on 127.0.0.1 is in use by another program; choose another with --kubelet-port`)
})

t.test('two clusters whose users chose no port', async (t) => {
  const start = (name: string) => run(t, 'up', '-d', '--kubelet=false', `--state-dir=${join(folder, name)}`)
  for (const name of ['first', 'second']) t.teardown(() => run(t, 'down', `--state-dir=${join(folder, name)}`))
  const outputs = [await start('first'), await start('second')].map(({ output }) => output)
  const urls = outputs.map((output) => /https:\S+/.exec(output)?.[0])
  t.not(urls[0], urls[1])
  t.match(outputs[1], 'Port 6443 is in use by another program, so this is a free one; --port chooses.')
})

t.test('a start that is called off', async (t) => {
  const stateDir = join(folder, 'called-off')
  // A shim that never gets anywhere, until its supervisor is gone: however late we are, the start is still under way.
  const slow = mkdtempSync(join(folder, 'slow-perl-'))
  const began = join(slow, 'began')
  const path = process.env.PATH ?? ''
  const perl = path
    .split(delimiter)
    .map((directory) => join(directory, 'perl'))
    .find((file) => existsSync(file))
  const guardian = `case "$*" in *guardian.pl*) exec '${perl}' "$@" ;; esac`
  writeFileSync(join(slow, 'perl'), `#!/bin/sh\n${guardian}\n: > '${began}'\ncat >/dev/null\n`, { mode: 0o755 })
  const variables = { PATH: `${slow}${delimiter}${path}` }
  const command = startCommand(t, ['up', '-d', '--port=0', `--state-dir=${stateDir}`], { variables })
  await until(() => existsSync(began), { what: 'the cluster to begin' })
  command.child.kill('SIGINT')
  t.equal(await command.ended, 130)
  await until(() => processesWith(stateDir).length === 0, { what: 'all processes to end' })
  t.notOk(existsSync(join(stateDir, 'running.json')))
})

t.test('programs that are missing', async (t) => {
  const empty = mkdtempSync(join(folder, 'no-programs-'))
  const run = async (args: string[]) => {
    const command = startCommand(t, args, { variables: { PATH: empty } })
    return { code: await command.ended, output: command.output() }
  }
  const doctor = await run(['doctor', '--port=0'])
  t.equal(doctor.code, 1)
  for (const sentence of [
    /perl +bad +not found on PATH\n +install perl, /,
    /kubectl +degraded +not found on PATH\n +install kubectl /,
    /docker +degraded +not found on PATH\n +install docker: only docker-compose up needs it/,
  ]) {
    t.match(doctor.output, sentence)
  }
  const stateDir = join(folder, 'no-perl')
  t.match(await run(['up', '--port=0', `--state-dir=${stateDir}`]), {
    code: 1,
    output: /^kubestage: the shim, .* \(cannot be started: .*\); install perl, .* --kubelet=false\n$/,
  })
  t.same(processesWith(stateDir), [])
  symlinkSync('/usr/bin/dirname', join(empty, 'dirname'))
  const ours = join(repository, 'bin', 'kubestage-kubectl', 'kubectl')
  const kubectl = spawnSync('/bin/sh', [ours, 'get', 'pods'], { env: { PATH: empty }, encoding: 'utf8' })
  t.match(kubectl, { status: 127, stderr: 'kubestage: there is no kubectl on PATH: install one (1.27 or newer)\n' })
})

t.test('a folder for temporary files that is none', async (t) => {
  const command = startCommand(t, ['doctor', '--port=0'], { variables: { TMPDIR: join(folder, 'none') } })
  t.equal(await command.ended, 0)
  t.match(
    command.output(),
    /containers +degraded +cannot be tried: \S+ cannot be written .*\n +name a folder .* TMPDIR\n/,
  )
})

t.test('a mistyped variable is reported, and is harmless', async (t) => {
  const variables = { KUBESTAGE_PROT: '1', KUBESTAGE_MINE: '1' }
  const command = startCommand(t, ['version'], { variables })
  t.equal(await command.ended, 0)
  t.match(command.output(), /^kubestage: unknown variable KUBESTAGE_PROT; did you mean KUBESTAGE_PORT\?\nkubestage \d/)
})

t.test('internal variables that another process has set are named', async (t) => {
  for (const [name, values] of [
    ['KUBESTAGE_GUARDIAN', ['x', '3 x 0 - 1', '900 901 0 - 1']],
    ['KUBESTAGE_LAUNCHER_FD', ['900', 'x']],
  ] as const)
    for (const value of values) {
      // With a guardian, where it is the launcher's: that is the first to read it.
      const folder = scratchFolder(t, 'launched')
      const up = ['up', '--nodes=0', '--port=0', `--state-dir=${folder}`, `--storage=sqlite:${join(folder, 'db')}`]
      const args = name === 'KUBESTAGE_LAUNCHER_FD' ? up : ['version']
      const command = spawnSync(process.execPath, [cli, ...args], {
        env: { ...process.env, [name]: value },
        encoding: 'utf8',
      })
      const stderr = `kubestage: ${name} is an internal variable of kubestage up, and its value is not valid: unset it\n`
      t.match(command, { status: 1, stderr }, `${name}=${value}`)
    }
})
