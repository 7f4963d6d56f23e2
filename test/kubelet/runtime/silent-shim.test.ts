import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdirSync, openSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { connectShim } from '../../../kubelet/runtime/process/shim-connection.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'

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
