import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cgroupProcesses } from '../../../shared/limits/cgroup-processes.ts'

t.test('the least limit of a cgroup and of those above it', async (t) => {
  const limited = () => ({ 'user.slice': { 'pids.max': '40\n', 'own.scope': { 'pids.max': 'max\n' } } })
  const root = t.testdir({ ...limited(), pids: limited() })
  const file = join(root, 'cgroup')
  const found = (...lines: string[]): number => {
    writeFileSync(file, `${lines.join('\n')}\n`)
    return cgroupProcesses(file, root)
  }

  t.equal(found('0::/user.slice/own.scope'), 40, 'version 2: a cgroup above the own limits')
  t.equal(found('8:pids:/user.slice/own.scope', '7:memory:/', '0::/'), 40, 'version 1')
  t.equal(found('8:memory:/user.slice', '0::/'), Number.POSITIVE_INFINITY, 'a cgroup of another controller')
  t.equal(cgroupProcesses(join(root, 'none'), root), Number.POSITIVE_INFINITY, 'a system without cgroups')
})
