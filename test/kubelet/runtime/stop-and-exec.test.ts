import { readFileSync } from 'node:fs'
import path from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import t from 'tap'
import { SignalRounds } from '../../../kubelet/runtime/process/containers/signal-rounds.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { endOfTurn } from '../../../shared/clock/settle.ts'
import { until } from '../../harness/until.ts'
import { configOf, isAlive, recordOf, sandboxOf, sh, startNode, texts } from './runtime-node.ts'

t.test('TERM goes to the main process once; KILL takes everything that it started, wherever it went', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'stop')
  const script = `trap 'echo TERM' TERM; setsid sleep 1000 & echo $!; (sleep 1001 & echo $!); while :; do sleep 1 & wait $!; done`
  const { id, logPath, pid } = await runtime.startContainer(configOf(node, sandbox, sh(script)))
  await until(() => texts(logPath).length >= 2, { what: 'both children' })
  const children = texts(logPath).map(Number)
  const signals: string[] = []
  await runtime.stopContainer(id, {
    signal: 'SIGTERM',
    // What a shell on a busy machine may need to say that it has heard.
    gracePeriodMs: 2_000,
    onSignal: (signal) => signals.push(signal),
  })
  t.same(signals, ['SIGTERM', 'SIGKILL'], 'TERM, and KILL after the grace')
  t.equal((await recordOf(runtime, id)).exitCode, 137)
  t.same(texts(logPath).slice(2), ['TERM'], 'the main process gets TERM')
  t.notOk(isAlive(pid))
  await runtime.stopContainer(id, { signal: 'SIGTERM', gracePeriodMs: 0 })
  t.pass('stopping what has stopped is nothing')
  await runtime.stopSandbox(sandbox.id)
  for (const child of children) {
    await until(() => !isAlive(child), { what: `process ${child} to be gone` })
    t.notOk(isAlive(child), 'KILL takes what the container started')
  }

  const other = await sandboxOf(runtime, 'handles')
  const handler = sh(`trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 1000 & wait $!; done`)
  const handling = await runtime.startContainer(configOf(node, other, handler))
  await until(() => texts(handling.logPath).includes('ready'), { what: 'ready' })
  await runtime.stopContainer(handling.id, { signal: 'TERM', gracePeriodMs: 10_000 })
  t.equal((await recordOf(runtime, handling.id)).exitCode, 3)
  t.same(texts(handling.logPath), ['ready', 'bye'])
})

t.test(
  'commands beside the container: environment on top, output bounded, timeout kills all, a bad command is no crash',
  async (t) => {
    const node = await startNode(t)
    const { runtime } = node
    const sandbox = await sandboxOf(runtime, 'exec')
    const config = configOf(node, sandbox, ['sleep', '1000'], { env: { A: 'a', B: 'b' }, workingDir: node.rootDir })
    const { id } = await runtime.startContainer(config)
    const result = await runtime.execSync(id, { command: sh('echo $A $B; pwd; exit 4'), env: { B: 'on top' } })
    t.same(result, { outcome: 'exited', exitCode: 4, output: `a on top\n${node.rootDir}\n` })

    const apart = await runtime.execSync(id, { command: sh('echo bad >&2; echo out; exit 4'), separateErrors: true })
    t.same(apart, { outcome: 'exited', exitCode: 4, output: 'out\nbad\n', errors: 'bad\n' })

    const big = await runtime.execSync(id, {
      command: sh('echo first; head -c 3000000 /dev/zero; echo last'),
      maxOutputBytes: 1000,
    })
    t.ok(big.output.startsWith('first\n') && big.output.endsWith('last\n'))
    t.ok(big.output.length < 1200, 'only the beginning and the end are kept')

    const pidFile = path.join(node.rootDir, 'pid')
    const late = await runtime.execSync(id, { command: sh(`sleep 1000 & echo $! >${pidFile}; wait`), timeoutMs: 2_000 })
    t.equal(late.outcome, 'timeout')
    const orphan = Number(readFileSync(pidFile, 'utf8'))
    await until(() => !isAlive(orphan), { what: 'the command’s child to be gone' })
    t.notOk(isAlive(orphan))

    const bad = await runtime.execSync(id, { command: ['nope'] })
    t.equal(bad.outcome, 'failed')
    t.match(bad, { message: /exec: "nope": executable file not found in \$PATH: unknown$/ })

    // Its input is written and ended before the command has opened it.
    const quick = async (text: string): Promise<string> => {
      const { stdin, stdout } = await runtime.exec(id, { command: ['cat'], stdin: true, tty: false })
      stdin?.end(text)
      return textOf(stdout)
    }
    const inputs = Array.from({ length: 20 }, (_, i) => `input ${i}`)
    t.same(await Promise.all(inputs.map(quick)), inputs)

    const stopping = new AbortController()
    const aborted = runtime.execSync(id, { command: ['sleep', '1000'], signal: stopping.signal })
    stopping.abort()
    t.match(await aborted, { outcome: 'exited', exitCode: 137 })

    await runtime.stopContainer(id, { signal: 'TERM', gracePeriodMs: 5000 })
    t.match(await runtime.execSync(id, { command: ['true'] }), {
      outcome: 'failed',
      message: /no running task found: task [0-9a-f]{64} not found$/,
    })
  },
)

t.test(
  'two pods have two addresses, which are used again only when they are free; the host’s network has none',
  async (t) => {
    const { runtime } = await startNode(t)
    const [a, b, host] = [
      await sandboxOf(runtime, 'a'),
      await sandboxOf(runtime, 'b'),
      await sandboxOf(runtime, 'h', true),
    ]
    t.match(a.ip, /^127\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+$/)
    t.not(a.ip, b.ip)
    t.equal(host.ip, '127.0.0.1')
    await runtime.removeSandbox(a.id)
    t.same(
      (await runtime.list()).sandboxes.map(({ podUid }) => podUid),
      ['b', 'h'],
    )
  },
)

t.test('what would ignore TERM as process 1 of a container is told, where it is no process 1', async (t) => {
  const warnings: string[] = []
  const node = await startNode(t, undefined, { warn: (message) => warnings.push(message) })
  const { runtime } = node
  const stopped = async (command: string[], shareProcessNamespace = false) => {
    const pod = await sandboxOf(runtime, 'would')
    await runtime.removeSandbox(pod.id)
    const sandbox = await runtime.startSandbox({ ...pod, shareProcessNamespace })
    const { id, logPath } = await runtime.startContainer(configOf(node, sandbox, command))
    if (command[0] === 'sh') await until(() => texts(logPath).length > 0, { what: 'its handler' })
    const receptions: (boolean | undefined)[] = []
    await runtime.stopContainer(id, {
      signal: 'SIGTERM',
      gracePeriodMs: 10_000,
      onSignal: (_, reception) => receptions.push(reception?.wouldIgnore),
    })
    return receptions
  }
  t.same(await stopped(['sleep', '1000']), [true])
  t.match(warnings, ['would ignore SIGTERM as PID 1, which it is in a container'])
  t.same(await stopped(sh('trap "exit 0" TERM; echo ready; while :; do sleep 0.02; done')), [undefined])
  t.same(
    await stopped(['sleep', '1000'], true),
    [undefined],
    'with a shared namespace it is none in a container, either',
  )
  t.equal(warnings.length, 1)
})

t.test(
  'of containers that are stopped at the same time, all are prepared before the first gets its signal',
  async (t) => {
    const rounds = new SignalRounds(realClock)
    const steps: string[] = []
    const signal = (name: string, isWanted = true) =>
      rounds.add({
        prepare: () => steps.push(`prepare ${name}`) > 0 && isWanted,
        send: () => void steps.push(`send ${name}`),
      })
    const first = signal('a')
    await Promise.resolve()
    const second = signal('b', false)
    await endOfTurn()
    const third = signal('c')
    await Promise.all([first, second, third])
    t.same(steps, ['prepare a', 'prepare b', 'prepare c', 'send a', 'send c'])
    await signal('d')
    t.same(steps.slice(5), ['prepare d', 'send d'])
  },
)

t.test('a container whose signal cannot be sent does not keep others from theirs', async (t) => {
  const rounds = new SignalRounds(realClock)
  const sent: string[] = []
  const fail = (): never => {
    throw new Error('the disk is full')
  }
  const unprepared = rounds.add({ prepare: fail, send: () => void sent.push('unprepared') })
  const unsent = rounds.add({ prepare: () => true, send: fail })
  const last = rounds.add({ prepare: () => true, send: () => void sent.push('last') })
  await Promise.all([t.rejects(unprepared, { message: 'the disk is full' }), t.rejects(unsent), last])
  t.same(sent, ['last'])
})
