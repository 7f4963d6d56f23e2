import { execFileSync } from 'node:child_process'
import t from 'tap'
import { kubeletSpec } from '../../cluster/supervisor/child-specs.ts'

t.test('The kubelet is started with settings of the allocator, which Node sees', (t) => {
  const { command, args } = kubeletSpec({ kubelet: '/k', logs: '/l' })
  const until = args.indexOf(process.execPath)
  const script = "process.stdout.write(process.env.MALLOC_ARENA_MAX + ' ' + process.env.HOME)"
  const said = execFileSync(command, [...args.slice(0, until + 1), '-e', script], { encoding: 'utf8' })
  t.equal(said, `1 ${process.env.HOME}`)
  t.end()
})
