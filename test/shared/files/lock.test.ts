import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { holderFor, lockHolder, takeLock } from '../../../shared/files/lock.ts'

t.test('a lock is held by a process that lives, and by no other', async (t) => {
  const file = join(t.testdir(), 'lock')
  const lock = takeLock(file)
  t.match(lock, { taken: true })
  t.equal(lockHolder(file)?.pid, process.pid)
  t.ok(lockHolder(file)?.isAlive())
  t.same(takeLock(file), { taken: false, pid: process.pid })
  if (lock.taken) lock.release()
  t.equal(lockHolder(file), undefined)

  for (const left of ['', 'no JSON', JSON.stringify({ pid: process.pid, startTime: '1' })]) {
    writeFileSync(file, left)
    t.equal(lockHolder(file), undefined, `nobody holds it: ${left}`)
    const again = takeLock(file)
    t.match(again, { taken: true }, 'and it can be taken')
    if (again.taken) again.release()
  }
})

t.test("another user's lock is not taken for nobody's", async (t) => {
  const file = join(t.testdir(), 'lock')
  const isRoot = process.geteuid?.() === 0
  writeFileSync(file, JSON.stringify({ pid: process.pid }), { mode: isRoot ? 0o600 : 0 })
  if (isRoot) process.seteuid?.(65_534)
  try {
    t.throws(() => lockHolder(file), { code: 'EACCES' })
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
})

t.test('the lock of a process that has just been killed is free, although its memory is not yet', async (t) => {
  const file = join(t.testdir(), 'lock')
  for (let round = 0; round < 5; round++) {
    const script = '$| = 1; $memory = "x" x 300_000_000; print "ready"; sleep'
    const holder = spawn('perl', ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(holder.stdout, 'data')
    writeFileSync(file, JSON.stringify(holderFor(holder.pid!)))
    t.same(takeLock(file), { taken: false, pid: holder.pid })
    holder.kill('SIGKILL')
    const lock = takeLock(file)
    t.match(lock, { taken: true })
    if (lock.taken) lock.release()
    await once(holder, 'exit')
  }
})
