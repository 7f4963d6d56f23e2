/** Whether a guardian has to start `kubestage up`: the flags, variables and the config file decide, as they do for the command itself. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runsDurably } from '../../../cli/cluster/wants-guardian.ts'
import { wantsGuardian } from '../../../cli/main.ts'
import { scratchFolder } from '../../harness/scratch.ts'

t.test('objects that outlive the API server, in the foreground', async (t) => {
  const durable = (args: string[], env: Record<string, string> = {}) => runsDurably({ args, env })
  t.ok(await durable(['--storage', 'sqlite:state.db']))
  t.ok(await durable(['--storage=etcd:http://127.0.0.1:2379']))
  t.ok(await durable(['--detach=false', '--storage=etcd']), 'a switch with a value')
  t.ok(await durable([], { KUBESTAGE_STORAGE: 'sqlite:state.db' }))
  t.notOk(await durable([]))
  t.notOk(await durable(['--storage=memory'], { KUBESTAGE_STORAGE: 'sqlite:state.db' }))
  t.notOk(await durable(['--storage=sqlite:a', '--storage=memory']), 'the last flag counts')
  t.notOk(await durable(['--image', 'app=run --storage=sqlite:a']), 'the value of another flag')
  t.notOk(await durable(['--storage=sqlite:a', '-d']))
  t.notOk(await durable(['--storage=sqlite:a', '--help']))
  t.notOk(await durable(['--storage=nowhere']), 'what is wrong is for the command to say')
  t.notOk(await durable(['--storage=sqlite:a', '--unknown']))
  const config = join(scratchFolder(t, 'config'), 'kubestage.yaml')
  const inFile = async (yaml: string): Promise<boolean> => {
    writeFileSync(config, yaml)
    return await durable(['--config', config])
  }
  t.ok(await inFile('{storage: "sqlite:state.db", nodes: 2}'))
  t.notOk(await inFile('# storage: sqlite:state.db\nnodes: 2\n'))
  t.notOk(await inFile('storage: memory\nimage:\n  storage: sqlite:x\n'))
})

t.test('only of up, and not of a command that a guardian started', async (t) => {
  t.ok(await wantsGuardian(['up', '--storage=sqlite:state.db'], {}))
  t.notOk(await wantsGuardian(['status', '--storage=sqlite:state.db'], {}))
  t.notOk(await wantsGuardian(['up', '--storage=sqlite:state.db'], { KUBESTAGE_GUARDIAN: '3 4 0 - 1' }))
})
