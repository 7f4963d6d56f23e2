import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdirSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { markedProcesses, marker } from '../../../kubelet/runtime/process/marker.ts'
import { connectShim } from '../../../kubelet/runtime/process/shim/connection.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { until } from '../../harness/until.ts'
import { configOf, recordOf, sandboxOf, startNode } from './runtime-node.ts'

t.test('a shim that reads and does not answer', async (t) => {
  const rootDir = t.testdir()
  const runtime = path.join(rootDir, 'runtime')
  mkdirSync(runtime)
  const pipes = ['requests', 'events'].map((name) => {
    const pipe = path.join(runtime, name)
    execFileSync('mkfifo', [pipe])
    return openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  })
  t.teardown(() => {
    for (const pipe of pipes) closeSync(pipe)
  })
  const clock = createVirtualClock()
  const listener = { started: t.fail, failed: t.fail, exited: t.fail, lost: t.fail }
  const refused = t.rejects(connectShim({ rootDir, clock, listener }), {
    message: /^the shim did not answer within 30 s/,
  })
  await clock.advance(30_000)
  await refused
})

t.test('a shim that hangs: nothing waits for it without end, and nobody else is signalled', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'hangs')
  const before = await runtime.startContainer(configOf(node, sandbox, ['sleep', '1000'], { name: 'before' }))
  const signals: string[] = []
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
    const onSignal = (name: string) => signals.push(name)
    process.on(signal, onSignal)
    t.teardown(() => process.off(signal, onSignal))
  }
  const shim = Number(readFileSync(path.join(node.rootDir, 'runtime', 'shim.pid'), 'utf8'))
  process.kill(shim, 'SIGSTOP')
  t.teardown(() => process.kill(shim, 'SIGCONT'))

  const refused = t.rejects(runtime.startContainer(configOf(node, sandbox, ['sleep', '1000'])), {
    message: /it was stopped before it had started$/,
  })
  const find = async () => (await runtime.list()).containers.find(({ name }) => name === 'c')
  const { id } = await until(find, { what: 'its record' })
  await runtime.stopContainer(id, { signal: 'SIGHUP', gracePeriodMs: 1_000, onSignal: () => t.fail('no process') })
  await refused
  t.match(await recordOf(runtime, id), { state: 'exited', exitCode: 128, reason: 'StartError' })
  t.match(await runtime.execSync(before.id, { command: ['true'], timeoutMs: 50 }), { outcome: 'timeout' })

  process.kill(shim, 'SIGCONT')
  const after = await runtime.startContainer(configOf(node, sandbox, ['sleep', '1000'], { name: 'after' }))
  const running = (id: string) => markedProcesses().has(marker(path.join(node.rootDir, 'runtime'), id))
  await until(() => !running(id), { what: 'the late process to be killed' })
  t.ok(running(before.id) && running(after.id), 'its neighbours live')
  t.same(signals, [], 'this process, which is the kubelet here, got no signal')
})
