import t from 'tap'
import { type CommandLaunch, Execs } from '../../../kubelet/runtime/process/execs/execs.ts'
import type { ShimConnection, ShimRun } from '../../../kubelet/runtime/process/shim/connection.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'

t.test('the shim is to forget what could not be started', async (t) => {
  const forgotten: string[] = []
  const shim = {
    run: ({ id }: ShimRun) => queueMicrotask(() => execs.hasFailed(id, 'No such file or directory')),
    forget: (id: string) => void forgotten.push(id),
  } as unknown as ShimConnection
  const execs = new Execs({ shim: () => shim, clock: createVirtualClock() })
  const launch: CommandLaunch = {
    containerId: 'c',
    command: ['/bin/none'],
    env: {},
    workingDir: '/',
    namespaces: { kind: 'none' },
  }
  await t.rejects(execs.withStreams(launch, { stdin: false, tty: false }), /No such file or directory/)
  t.equal(forgotten.length, 1)
  t.match(await execs.run(launch, { command: ['none'] }), { outcome: 'failed' })
  t.equal(forgotten.length, 2)
  await execs.close()
})
