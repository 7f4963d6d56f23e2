/** Images that were added to a running cluster stay as long as its objects. */
import t, { type Test } from 'tap'
import type { Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { type CommandRun, startCommand, startTestCluster } from '../harness/cluster.ts'
import { followPod, podOf } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'

const namespace = 'default'
const folder = scratchFolder(t, 'added-images')

async function run(t: Test, ...args: string[]): Promise<string> {
  const command: CommandRun = startCommand(t, args)
  t.equal(await command.ended, 0, command.output())
  return command.output()
}

t.test('with objects in a file, over a stop and a start', async (t) => {
  const storage = [`--storage=sqlite:${folder}/state.db`, '--image=there:*=true', '--image=other:*=true']
  const { client, stateDir, process } = await startTestCluster(t, ...storage)
  const here = `--state-dir=${stateDir}`
  const pod = podOf({ name: 'mine', image: 'mine:1', command: [] })
  await client.create<Pod>(pods, pod, { namespace })
  await run(t, 'image', 'add', 'mine:*', here, '--', 'sleep', '1000')
  await run(t, 'image', 'remove', 'there:*', here)
  await run(t, 'image', 'remove', 'other:*', here)
  await (await followPod(client, { namespace, name: 'mine' })).until(
    ({ status }) => status?.phase === 'Running',
    'runs',
  )
  await client.close()
  await process.stop()

  const again = startCommand(t, ['up', '--port=0', here, ...storage.slice(0, 2), '--image=other:*=sleep 5'])
  await again.printed('is ready')
  const list = await run(t, 'image', 'list', here)
  t.match(list, /^mine:\* +sleep 1000 +added\n/m)
  t.notMatch(list, /^there:/m, 'what was removed, too')
  t.match(list, /^other:\* +sleep 5 +flag\n/m, 'until the start says something else')
})

t.test('with objects in memory they go as these do', async (t) => {
  const { client, stateDir, process } = await startTestCluster(t, '--storage=memory')
  const here = `--state-dir=${stateDir}`
  await run(t, 'image', 'add', 'mine:*', here, '--', 'sleep', '1000')
  t.match(await run(t, 'image', 'list', here), /^mine:/m)
  await client.close()
  await process.stop()

  const again = startCommand(t, ['up', '--port=0', '--storage=memory', here])
  await again.printed('is ready')
  t.notMatch(await run(t, 'image', 'list', here), /^mine:/m)
})
