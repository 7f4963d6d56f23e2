import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { RuntimeEvent } from '../../../kubelet/runtime/container-runtime.ts'
import { markedProcesses } from '../../../kubelet/runtime/process/marker.ts'
import { until } from '../../harness/until.ts'
import { configOf, exited, isAlive, recordOf, sandboxOf, sh, startNode, texts } from './runtime-node.ts'

t.test('a kubelet that starts again finds what ran, what ended meanwhile, and every line', async (t) => {
  const node = await startNode(t)
  const first = node.runtime
  const sandbox = await sandboxOf(first, 'again')
  const go = path.join(node.rootDir, 'go')
  const waiting = `echo before; while [ ! -e ${go} ]; do sleep 0.02; done; echo after`
  const runs = await first.startContainer(
    configOf(node, sandbox, sh(`${waiting}; sleep 1000`), { annotations: { keep: 'me' } }),
  )
  const ends = await first.startContainer(
    configOf(node, sandbox, sh(`${waiting}; exit 9`), { name: 'e', logPath: path.join(node.rootDir, 'e.log') }),
  )
  const hook = path.join(node.rootDir, 'hook')
  await until(() => texts(ends.logPath).includes('before') && texts(runs.logPath).includes('before'), {
    what: 'before',
  })
  await first.close()
  const killed = spawn(process.execPath, [
    path.join(import.meta.dirname, 'kubelet-to-kill.ts'),
    node.rootDir,
    `echo $$ >${hook}; exec sleep 1000`,
  ])
  await until(() => existsSync(hook) && readFileSync(hook, 'utf8') !== '', { what: 'the hook' })
  killed.kill('SIGKILL')
  await until(() => killed.signalCode !== null, { what: 'the kubelet to be dead' })
  writeFileSync(go, '')
  await until(() => !isAlive(ends.pid), { what: 'its end while nobody looks' })

  const second = await node.again()
  const found = await recordOf(second, runs.id)
  t.match(found, {
    state: 'running',
    pid: runs.pid,
    attempt: 0,
    annotations: { keep: 'me' },
    startedAtMs: runs.startedAtMs,
  })
  await exited(second, ends.id)
  t.match(await recordOf(second, ends.id), { exitCode: 9 })
  t.same((await second.list()).sandboxes, [sandbox])
  await until(() => texts(runs.logPath).includes('after'), { what: 'what it wrote meanwhile' })
  t.same(texts(runs.logPath), ['before', 'after'])
  t.same(texts(ends.logPath), ['before', 'after'])
  const hookPid = Number(readFileSync(hook, 'utf8'))
  await until(() => !isAlive(hookPid), { what: 'the hook to die with its kubelet' })

  const events: RuntimeEvent[] = []
  second.onEvent((event) => events.push(event))
  await second.stopContainer(runs.id, { signal: 'TERM', gracePeriodMs: 5000 })
  t.same(events, [{ type: 'exited', podUid: 'again', containerId: runs.id }])
  t.equal((await recordOf(second, runs.id)).exitCode, 143)
})

t.test('when the supervisor is gone nothing stays: no container, no child that ran away, no shim', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'end')
  const { pid, logPath } = await runtime.startContainer(
    configOf(node, sandbox, sh('setsid sleep 1000 & echo $!; exec sleep 1000')),
  )
  await until(() => texts(logPath).length === 1, { what: 'its child' })
  const child = Number(texts(logPath)[0])
  node.shim.stdin?.end()
  for (const process of [pid, child, node.shim.pid ?? 0]) {
    await until(() => !isAlive(process), { what: `process ${process} to be gone` })
    t.notOk(isAlive(process))
  }
})

t.test('a kubelet that starts again while a container is being started finds it, too', async (t) => {
  const node = await startNode(t)
  const sandbox = await sandboxOf(node.runtime, 'starting')
  const starting = Array.from({ length: 20 }, (_, attempt) =>
    node.runtime.startContainer(configOf(node, sandbox, ['sleep', '1000'], { name: `c${attempt}`, attempt })),
  )
  const given = Promise.allSettled(starting)
  await node.runtime.close()
  const again = await node.again()
  const { containers } = await again.list()
  t.ok(containers.length > 0)
  for (const { state, pid, reason } of containers) {
    // Not asked for any more by then: never started, and said to be so.
    if (state === 'exited') t.equal(reason, 'Unknown')
    else t.ok(isAlive(pid))
  }
  for (const { id } of containers) await again.stopContainer(id, { signal: 'TERM', gracePeriodMs: 0 })
  await again.removeSandbox(sandbox.id)
  const left = () => [...markedProcesses().keys()].filter((mark) => mark.startsWith(node.rootDir))
  await until(() => left().length === 0, { what: 'nothing to be left of them' })
  t.same((await again.list()).containers, [])
  t.ok(
    (await given).every(({ status }) => status === 'rejected'),
    'who asked is told that nobody waits any more',
  )
})
