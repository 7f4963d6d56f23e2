/** Shows what scripts/fragments.ts finds in doc comments. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { repository } from '../harness/cluster.ts'

const source = (comment: string): string => `const before = 1\n\n/** ${comment} */\nexport const name = before\n`

t.test('a comment that is no sentence is found, with its line', async (t) => {
  const comments = {
    'a.ts': source('A piece of a pod.'),
    'b.ts': source('Of the pods that run. It is read again.'),
    'c.ts': source('Also of one that is not there.'),
    'd.ts': source('What claims get that name no class.'),
    'e.ts': source('Returns the pods that run.'),
    'f.ts': source('Names a pod.'),
    'g.ts': source('When the grace is over, the pod is killed.'),
    'h.ts': source('The pods that run on a node.'),
    'i.ts': `/** No exported name. */\nconst name = 1\n`,
    'j.ts':
      'export interface Kill {\n  /** In seconds. */\n  grace: number\n  /** Names the pod. */\n  pod: string\n}\n',
    'k.ts': 'export class Kill {\n  readonly pod = 1\n\n  /**\n   * Once.\n   */\n  run(): void {}\n}\n',
    'l.ts': 'interface Kill {\n  /** In seconds. */\n  grace: number\n}\n',
  }
  const { status, stdout } = spawnSync(process.execPath, [join(repository, 'scripts', 'fragments.ts')], {
    cwd: t.testdir({ kubelet: comments }),
    encoding: 'utf8',
  })
  t.equal(status, 1)
  t.same(stdout.trim().split('\n'), [
    'kubelet/a.ts:3: has no verb: A piece of a pod.',
    'kubelet/b.ts:3: begins with "Of": Of the pods that run.',
    'kubelet/c.ts:3: begins with "Also": Also of one that is not there.',
    'kubelet/d.ts:3: begins with "What": What claims get that name no class.',
    'kubelet/j.ts:2: begins with "In": In seconds.',
    'kubelet/k.ts:4: begins with "Once": Once.',
    'kubelet/l.ts:2: begins with "In": In seconds.',
    '7 fragments',
  ])
})
