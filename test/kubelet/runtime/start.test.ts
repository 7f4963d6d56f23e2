import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createTerminationMessages } from '../../../kubelet/containers/termination-message.ts'
import type { ContainerConfig } from '../../../kubelet/runtime/container-runtime.ts'
import { possibleIsolation } from '../../../kubelet/runtime/process/index.ts'
import { ANNOTATIONS } from '../../../kubelet/runtime/recorded-container.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'
import { configOf, exited, recordOf, sandboxOf, sh, startNode, texts } from './runtime-node.ts'

t.test('a container gets its environment and nothing else, its folder, and a log of whole lines', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'env')
  const command = ['env']
  const env = { PLAIN: "it's $HOME", 'dotted.name-1': 'x', EMPTY: '', LINES: 'two\nlines' }
  const { id, logPath } = await runtime.startContainer(configOf(node, sandbox, command, { env, path: ['/opt/first'] }))
  await exited(runtime, id)
  const lines = texts(logPath)
  for (const line of ["PLAIN=it's $HOME", 'dotted.name-1=x', 'EMPTY=', 'HOSTNAME=env']) t.ok(lines.includes(line), line)
  t.ok(
    lines.some((line) => line.startsWith('PATH=/opt/first:')),
    'folders of the image come first',
  )
  const names = lines.filter((line) => line.includes('=')).map((line) => line.split('=')[0])
  t.same(
    names.sort(),
    [
      'EMPTY',
      'HOME',
      'HOSTNAME',
      'KUBESTAGE_CLOCK_FILE',
      'KUBESTAGE_CONTAINER',
      'LINES',
      'PATH',
      'PLAIN',
      'dotted.name-1',
    ].sort(),
    'nothing of ours leaks',
  )
  t.match(readFileSync(logPath, 'utf8').split('\n')[0], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout F /)

  const folder = path.join(node.rootDir, 'made', 'for it')
  const there = await runtime.startContainer(
    configOf(node, sandbox, ['pwd'], { name: 'd', workingDir: folder, attempt: 1 }),
  )
  await exited(runtime, there.id)
  t.same(texts(there.logPath), [folder], 'a missing working directory is made')
})

t.test('what is more than a program or the shim can be given is refused, and the shim answers the next', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'large')
  const start = (name: string, command: string[], more: Partial<ContainerConfig> = {}) =>
    runtime.startContainer(configOf(node, sandbox, command, { name, ...more }))
  const variables = (count: number, length: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`V${index}`, '\t'.repeat(length)]))
  const tooLong = /unable to start container process: exec: "true": argument list too long: /
  for (const [name, command, more] of [
    ['word', ['true', 'x'.repeat(131_072)], {}],
    ['variable', ['true'], { env: variables(1, 131_072) }],
    ['words', ['true', ...Array(300_000).fill('x')], {}],
    ['variables', ['true'], { env: variables(500, 100_000) }],
    ['known', ['true'], { tooLong: 'so it was found' }],
  ] as const) {
    await t.rejects(start(name, [...command], more), { message: tooLong }, name)
    const record = (await runtime.list()).containers.find((container) => container.name === name)
    t.match(record, { state: 'exited', exitCode: 128, reason: 'StartError', message: tooLong }, name)
  }
  const most = await start('most', ['sleep', '1000'], { env: variables(19, 100_000) })
  t.match(await runtime.execSync(most.id, { command: ['true', 'x'.repeat(131_072)] }), {
    outcome: 'failed',
    message: tooLong,
  })
  t.match(await runtime.execSync(most.id, { command: ['true'] }), { exitCode: 0 })
})

t.test('more mounts than a request to the shim can hold', async (t) => {
  if ((await possibleIsolation({ rootDir: t.testdir() })).files !== 'own')
    return skipOrFail(t, 'this machine lets us mount nothing')
  const node = await startNode(t, { isolation: 'pod', files: 'own' })
  const sandbox = await sandboxOf(node.runtime, 'mounts')
  const mount = { hostPath: node.rootDir, readonly: true }
  const mounts = Array.from({ length: 40_000 }, (_, index) => ({
    ...mount,
    containerPath: `/mounted/${index}${'x'.repeat(99)}`,
  }))
  await t.rejects(node.runtime.startContainer(configOf(node, sandbox, ['true'], { mounts })), {
    message:
      /error during container init: its mounts, words and variables take \d+ bytes; at most 8388608 are possible/,
  })
  const next = await node.runtime.startContainer(configOf(node, sandbox, ['true'], { name: 'next' }))
  await exited(node.runtime, next.id)
  t.match(await recordOf(node.runtime, next.id), { exitCode: 0 })
})

t.test('signals have their default action, and standard input is empty', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'signals')
  const script = 'grep -E "SigIgn|SigBlk" /proc/self/status; cat; echo end'
  const { id, logPath } = await runtime.startContainer(configOf(node, sandbox, sh(script)))
  await exited(runtime, id)
  t.same(
    texts(logPath).map((line) => line.replace(/\s+/g, ' ')),
    ['SigBlk: 0000000000000000', 'SigIgn: 0000000000000000', 'end'],
  )
})

t.test('output keeps its order across both streams, is complete at the exit, and long lines are cut', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'output')
  const script = `for i in $(seq 500); do echo out $i; echo err $i >&2; done; head -c 20000 /dev/zero | tr '\\0' x; echo; printf last`
  const { id, logPath } = await runtime.startContainer(configOf(node, sandbox, sh(script)))
  await new Promise<void>((resolve) => {
    const stop = runtime.onEvent(({ type, containerId }) => {
      if (type !== 'exited' || containerId !== id) return
      stop()
      resolve()
    })
    recordOf(runtime, id).then(({ state }) => state === 'exited' && resolve())
  })
  const lines = texts(logPath)
  t.same(
    lines.slice(0, 1000),
    Array.from({ length: 1000 }, (_, i) => `${i % 2 ? 'err' : 'out'} ${Math.floor(i / 2) + 1}`),
  )
  t.same(
    lines.slice(1000).map((line) => line.length),
    [16384, 20000 - 16384, 4],
  )
  const tags = readFileSync(logPath, 'utf8')
    .trimEnd()
    .split('\n')
    .slice(-3)
    .map((line) => line.split(' ')[2])
  t.same(tags, ['P', 'F', 'P'], 'a last line without a newline is a part of a line')
})

t.test('a message from the log has the newlines that the container wrote, and no other', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'messages')
  const messageOf = async (script: string, attempt: number) => {
    const annotations = { [ANNOTATIONS.terminationMessagePolicy]: 'FallbackToLogsOnError' }
    const { id } = await runtime.startContainer(configOf(node, sandbox, sh(script), { attempt, annotations }))
    await exited(runtime, id)
    return createTerminationMessages()(await recordOf(runtime, id)).message
  }
  t.equal(await messageOf('echo one; printf DONE; exit 1', 0), 'one\nDONE')
  t.equal(await messageOf('echo DONE; exit 1', 1), 'DONE\n')
  const longMessage = await messageOf("head -c 20000 /dev/zero | tr '\\0' x; exit 1", 2)
  t.equal(longMessage, 'x'.repeat(2048), 'parts of a line are put together')
})

t.test('exit codes: its own, 128 and the signal, 128 for what cannot start', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'codes')
  const codeOf = async (command: string[], attempt: number) => {
    const { id } = await runtime.startContainer(configOf(node, sandbox, command, { attempt }))
    await exited(runtime, id)
    return (await recordOf(runtime, id)).exitCode
  }
  t.equal(await codeOf(['true'], 0), 0)
  t.equal(await codeOf(sh('exit 7'), 1), 7)
  t.equal(await codeOf(sh('kill -SEGV $$'), 2), 139)

  const script = path.join(node.rootDir, 'not-a-program')
  writeFileSync(script, 'echo hello\n', { mode: 0o755 })
  const failures: [string[], RegExp][] = [
    [['/no/such/cmd'], /exec: "\/no\/such\/cmd": stat \/no\/such\/cmd: no such file or directory$/],
    [['nosuchcmd'], /exec: "nosuchcmd": executable file not found in \$PATH$/],
    [['/etc/passwd'], /exec: "\/etc\/passwd": permission denied$/],
    [['/etc'], /exec: "\/etc": is a directory$/],
    [[script], /exec format error$/],
  ]
  for (const [command, message] of failures) {
    await t.rejects(runtime.startContainer(configOf(node, sandbox, command)), { message })
  }
  await t.rejects(runtime.startContainer(configOf(node, sandbox, ['true'], { workingDir: '/etc/passwd' })), {
    message: /error during container init: mkdir \/etc\/passwd: not a directory$/,
  })
  const failed = (await runtime.list()).containers.filter(({ reason }) => reason === 'StartError')
  t.equal(failed.length, failures.length + 1, 'each is listed')
  t.ok(failed.every(({ exitCode, state }) => exitCode === 128 && state === 'exited'))
})

t.test('on an unknown system processes still start, read, write and end', async (t) => {
  const node = await startNode(t, undefined, { unknownSystem: true })
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'elsewhere')
  const { id, logPath } = await runtime.startContainer(
    configOf(node, sandbox, sh('read line; echo got $line; exit 3'), { stdin: true }),
  )
  t.equal((await runtime.execSync(id, { command: sh('echo beside; exit 4') })).outcome, 'exited')
  const { stdin } = await runtime.attach(id)
  stdin?.write('this\n')
  await exited(runtime, id)
  t.equal((await recordOf(runtime, id)).exitCode, 3)
  t.same(texts(logPath), ['got this'])
})

t.test('two hundred containers at once, each with its own exit', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const started = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const sandbox = await sandboxOf(runtime, `many-${i}`)
      return runtime.startContainer(configOf(node, sandbox, sh(`echo ${i}; exit ${i % 7}`)))
    }),
  )
  await until(async () => (await runtime.list()).containers.every(({ state }) => state === 'exited'), {
    what: 'all exits',
  })
  for (const [i, { id, logPath }] of started.entries()) {
    const { exitCode } = await recordOf(runtime, id)
    if (exitCode !== i % 7 || texts(logPath)[0] !== String(i))
      t.fail(`container ${i}: exit ${exitCode}, said ${texts(logPath)}`)
  }
  await Promise.all((await runtime.list()).sandboxes.map(({ id }) => runtime.removeSandbox(id)))
  t.same(await runtime.list(), { sandboxes: [], containers: [] })
  t.notOk(existsSync(started[0]?.logPath ?? ''))
})
