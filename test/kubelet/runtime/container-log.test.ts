import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ContainerLog } from '../../../kubelet/runtime/process/containers/container-log.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'

const megabyte = Buffer.alloc(1024 * 1024, `${'x'.repeat(1023)}\n`)

t.test('a log is cut into files', (t) => {
  const file = join(t.testdir(), '0.log')
  const log = new ContainerLog(file, { clock: createVirtualClock() })
  for (let i = 0; i < 12; i++) log.write(megabyte)
  log.close()
  t.ok(statSync(`${file}.1`).size > 10 * 1024 * 1024)
  t.ok(statSync(file).size < 10 * 1024 * 1024)
  t.end()
})

t.test('a log file that was removed', (t) => {
  const file = join(t.testdir(), '0.log')
  const log = new ContainerLog(file, { clock: createVirtualClock() })
  log.write(Buffer.from('first\n'))
  rmSync(file)
  for (let i = 0; i < 11; i++) log.write(megabyte)
  t.notOk(existsSync(`${file}.1`))
  log.write(Buffer.from('last\n'))
  log.close()
  t.match(readFileSync(file, 'utf8'), / stdout F last\n$/)
  t.end()
})

t.test('its size and the number of its files have a bound', async (t) => {
  const folder = t.testdir()
  const log = new ContainerLog(join(folder, 'log'), {
    clock: createVirtualClock(),
    limits: { fileBytes: 100, files: 3 },
  })
  for (let n = 0; n < 6; n++) log.write(Buffer.from(`${'x'.repeat(100)}\n`))
  log.write(Buffer.from('the last\n'))
  log.close()
  t.same(readdirSync(folder).sort(), ['log', 'log.1', 'log.2'])
  t.match(readFileSync(join(folder, 'log'), 'utf8'), 'the last')
})

t.test('a link to it is made with its first line, and costs it nothing where that is impossible', async (t) => {
  const folder = t.testdir()
  const [file, path] = [join(folder, 'pods', '0.log'), join(folder, 'containers', 'c.log')]
  const make = () => new ContainerLog(file, { clock: createVirtualClock(), link: { path, target: '../pods/0.log' } })
  make().close()
  make().write(Buffer.from('no folder\n'))
  mkdirSync(join(folder, 'containers'))
  const silent = make()
  t.notOk(existsSync(path))
  silent.write(Buffer.from('a line\n'))
  make().write(Buffer.from('the next kubelet’s\n'))
  t.equal(readlinkSync(path), '../pods/0.log')
  t.equal(readFileSync(path, 'utf8').split('\n').length, 4)
})
