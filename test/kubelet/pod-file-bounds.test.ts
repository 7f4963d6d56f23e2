/** Files of a pod that lie in no volume, and programs that write to them without end. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { PodFileBounds } from '../../kubelet/containers/pod-file-bounds.ts'
import type { Pod } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { until } from '../harness/until.ts'

const mebibyte = 1024 * 1024
const pod: Pod = { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers: [] } }

function start(t: Test) {
  const folder = t.testdir({ 'c.01020304.message': '', 'etc-hosts': '127.0.0.1 p', volumes: { data: 'x' } })
  const told: string[] = []
  const events = { podEvent: (...of: unknown[]) => told.push(of.slice(2).join(' ')) } as never
  const bounds = new PodFileBounds({ events, clock: realClock })
  t.teardown(() => bounds.close())
  bounds.add(pod, folder)
  return { folder, bounds, told }
}

/** Appends `mebibytes` to a file. */
async function flood(file: string, mebibytes: number, block = 65_536): Promise<void> {
  const count = (mebibytes * mebibyte) / block
  const args = ['if=/dev/zero', `of=${file}`, `bs=${block}`, `count=${count}`, 'oflag=append', 'conv=notrunc']
  const dd = spawn('dd', args, { stdio: 'ignore' })
  await new Promise((resolve) => dd.on('close', resolve))
}

t.test('a file that grows is cut, and an event says so once', async (t) => {
  const { folder, told } = start(t)
  const most = mebibyte + statSync('/etc/hosts').blocks * 512
  for (const [name, size] of [
    ['c.01020304.message', mebibyte],
    ['etc-hosts', most],
  ] as const) {
    const file = path.join(folder, name)
    await flood(file, 200)
    await until(() => statSync(file).size <= size, { what: `${name} to be cut` })
    await flood(file, 20)
    await until(() => statSync(file).size <= size, { what: `${name} to be cut again` })
  }
  t.same(told, [
    'Warning FileCut The termination log of container c had more than 1048576 bytes; it is cut there',
    `Warning FileCut /etc/hosts had more than ${most} bytes; it is cut there`,
  ])
})

t.test('who writes without end costs little', async (t) => {
  const { folder } = start(t)
  const before = process.cpuUsage()
  await flood(path.join(folder, 'c.01020304.message'), 2, 1)
  const { user, system } = process.cpuUsage(before)
  t.ok(user + system < 1_500_000, `${user + system} µs for two million changes`)
})

t.test('a pod that is gone is not watched', async (t) => {
  const { folder, bounds } = start(t)
  const inotify = () => readdirSync('/proc/self/fdinfo').length
  const descriptors = inotify()
  for (let round = 0; round < 100; round++) {
    const other = path.join(folder, String(round))
    mkdirSync(other)
    bounds.add({ ...pod, metadata: { ...pod.metadata, uid: other } }, other)
    rmSync(other, { recursive: true })
    bounds.remove(other)
  }
  t.equal(inotify(), descriptors)
  bounds.remove('u')
  const file = path.join(folder, 'c.01020304.message')
  writeFileSync(file, Buffer.alloc(3 * mebibyte))
  const watched = path.join(folder, 'watched')
  mkdirSync(watched)
  bounds.add(pod, watched)
  writeFileSync(path.join(watched, 'large'), Buffer.alloc(3 * mebibyte))
  await until(() => statSync(path.join(watched, 'large')).size === mebibyte, { what: 'another to be cut' })
  t.equal(statSync(file).size, 3 * mebibyte)
  t.ok(existsSync(path.join(folder, 'volumes', 'data')))
})
