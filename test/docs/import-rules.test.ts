import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { rooms, satellites } from '../../scripts/import-rules.ts'

const program = join(import.meta.dirname, '../../scripts/check-imports.ts')

/** What the check says of a source tree of these files. */
function check(test: Test, files: Record<string, string>): { status: number | null; stdout: string } {
  const root = test.testdir()
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return spawnSync(process.execPath, [program], { cwd: root, encoding: 'utf8' })
}

t.test('a cycle of imports is a violation, also where they import types alone', async (t) => {
  const ways = [
    `import type { B } from './b.ts'`,
    `import { type B } from './b.ts'`,
    `import { b } from './b.ts'`,
    `export type { B } from './b.ts'`,
    `export * from './b.ts'`,
    `let b: import('./b.ts').B`,
    `const b = () => import('./b.ts')`,
    `import {\n  type A,\n  type B,\n} from './b.ts'`,
  ]
  for (const [index, way] of ways.entries())
    await t.test(way, async (t) => {
      const folder = ['apiserver', 'controllers', 'kubelet', 'shared', 'openapi', 'cli', 'library'][index % 7]
      const back = `import type { A } from './a.ts'\nexport const b = 1\n`
      const { status, stdout } = check(t, { [`${folder}/a.ts`]: way, [`${folder}/b.ts`]: back })
      t.equal(status, 1)
      t.match(stdout, `cycle: ${folder}/a.ts → ${folder}/b.ts → ${folder}/a.ts`)
    })
})

t.test('a cycle of more than two files is found behind files that have none', async (t) => {
  const files = {
    'cli/start.ts': `import { a } from '../shared/a.ts'`,
    'shared/a.ts': `import type { B } from './b.ts'`,
    'shared/b.ts': `import type { C } from './c.ts'`,
    'shared/c.ts': `import type { B } from './b.ts'\nimport { d } from './d.ts'`,
    'shared/d.ts': `import type { A } from './b.ts'`,
  }
  const { status, stdout } = check(t, files)
  t.equal(status, 1)
  t.match(stdout, 'cycle: shared/b.ts → shared/c.ts → shared/b.ts')
  t.match(stdout, 'cycle: shared/b.ts → shared/c.ts → shared/d.ts → shared/b.ts')
})

t.test('files that share a third one are no cycle', async (t) => {
  const files = {
    'shared/a.ts': `import { b } from './b.ts'\nimport { c } from './c.ts'`,
    'shared/b.ts': `import { c } from './c.ts'`,
    'shared/c.ts': `/** Not import { a } from './a.ts'. */\nexport const c = 1`,
  }
  const { status, stdout } = check(t, files)
  t.equal(status, 0, stdout)
})

t.test('an import of types alone breaks a rule as well', async (t) => {
  const files = {
    'kubelet/pod/ports.ts': `import type { R } from '../runtime/r.ts'\nimport { s } from './s.ts'`,
    'kubelet/pod/s.ts': `import type { Pod } from '../../shared/api/pod.ts'`,
    'kubelet/runtime/r.ts': 'export type R = string',
    'shared/api/pod.ts': 'export type Pod = string',
  }
  const { status, stdout } = check(t, files)
  t.equal(status, 1)
  t.match(stdout, /^kubelet\/pod\/ports.ts:1: imports kubelet\/runtime\/r.ts; instead: .+\n4 files, 1 violations/)
})

t.test('no kind imports another kind, nor its folder', async (t) => {
  const job = `import { cell } from '../../parts/cells.ts'\nimport { rule } from './rule.ts'\nimport type { Pod } from '../../core/pod/spec.ts'`
  const files = {
    'apiserver/resources/index.ts': `import { job } from './batch/job/index.ts'`,
    'apiserver/resources/batch/cronjob.ts': `import type { Job } from './job/rule.ts'`,
    'apiserver/resources/batch/job/index.ts': job,
    'apiserver/resources/batch/job/rule.ts': `import type { Pod } from '../../core/pod/index.ts'`,
    'apiserver/resources/parts/pod-template.ts': `import type { Pod } from '../core/pod/spec.ts'`,
    'apiserver/resources/core/pod/index.ts': `import type { Pod } from './spec.ts'`,
  }
  const { status, stdout } = check(t, files)
  t.equal(status, 1)
  t.match(stdout, 'resources/batch/cronjob.ts:1: imports apiserver/resources/batch/job/rule.ts;')
  t.match(stdout, 'resources/batch/job/index.ts:3: imports apiserver/resources/core/pod/spec.ts;')
  t.match(stdout, 'resources/batch/job/rule.ts:1: imports apiserver/resources/core/pod/index.ts;')
  t.match(stdout, 'resources/parts/pod-template.ts:1: imports apiserver/resources/core/pod/spec.ts;')
})

t.test('folders that import each other are found, also through types, a third folder, or deeper ones', async (t) => {
  const { status, stdout } = check(t, {
    'kubelet/pods/worker.ts': `import { tell } from '../status/tell.ts'`,
    'kubelet/status/tell.ts': `import type { Fact } from '../facts/deep/fact.ts'`,
    'kubelet/facts/deep/fact.ts': `import { end } from '../../pods/end.ts'`,
    'kubelet/pods/end.ts': `import { ground } from '../ground.ts'`,
    'kubelet/ground.ts': '',
  })
  t.equal(status, 1)
  t.match(stdout, 'folders in a cycle: kubelet/facts → kubelet/pods → kubelet/status → kubelet/facts;')
  t.match(stdout, '5 files, 1 violations')
})

t.test('no part of the product imports what starts or tests it', async (t) => {
  const parts = ['apiserver', 'cluster', 'controllers', 'kubelet', 'openapi', 'shared']
  const above = ['bench', 'bin', 'cli', 'library', 'scripts', 'test']
  const text = above.map((folder) => `import type { X } from '../${folder}/x.ts'`).join('\n')
  const { stdout } = check(t, Object.fromEntries(parts.map((part) => [`${part}/a.ts`, text])))
  for (const part of parts)
    for (const [index, folder] of above.entries())
      t.match(stdout, `${part}/a.ts:${index + 1}: imports ${folder}/x.ts; instead: `)
})

t.test('a satellite that reaches into the core is told the door', async (t) => {
  const { status, stdout } = check(t, {
    'apiserver/record/feed.ts': `import { Watch } from '../watchcache/index.ts'\nimport type { W } from '../watchcache/w.ts'`,
    'apiserver/ui/site.ts': `import type { Schemas } from '../../openapi/schemas.ts'`,
    'bench/hooks.ts': `const { exec } = await import('../kubelet/actions/exec.ts')`,
    'cli/rehearse/run.ts': `import { runCluster } from '../../cluster/index.ts'\nimport { x } from '../../cluster/cluster.ts'`,
  })
  t.equal(status, 1)
  const beside = (name: string, rest: string) => `${name} stands beside the core${rest}\n`
  const door = (name: string, room: string, file: string) => beside(name, `: the door of ${room} is ${file}`)
  const watchcache = door('the record', 'apiserver/watchcache/', 'apiserver/watchcache/index.ts')
  t.match(stdout, `apiserver/record/feed.ts:2: imports apiserver/watchcache/w.ts; instead: ${watchcache}`)
  const closed = beside('the page', ', and openapi/ has no door: take what is needed as an argument')
  t.match(stdout, `apiserver/ui/site.ts:1: imports openapi/schemas.ts; instead: ${closed}`)
  const actions = door('bench', 'kubelet/actions/', 'kubelet/actions/actions.ts')
  t.match(stdout, `bench/hooks.ts:1: imports kubelet/actions/exec.ts; instead: ${actions}`)
  const cluster = door('rehearse', 'cluster/', 'cluster/index.ts')
  t.match(stdout, `cli/rehearse/run.ts:2: imports cluster/cluster.ts; instead: ${cluster}`)
  t.match(stdout, ' 4 violations')
})

t.test('the core meets a satellite only where a program is put together', async (t) => {
  const { status, stdout } = check(t, {
    'apiserver/satellites.ts': `const feed = import('./record/feed.ts')`,
    'apiserver/http/routes.ts': `import type { Feed } from '../record/feed.ts'`,
    'cli/load/run.ts': `import { rehearse } from '../rehearse/index.ts'`,
    'cluster/cluster.ts': `import { join } from '../cli/join/index.ts'`,
    'controllers/index.ts': `export { Elector } from './leader-election/elector.ts'`,
  })
  t.equal(status, 1)
  const only = (name: string, root: string) => `instead: ${name} stands beside the core: only ${root} imports it`
  t.match(stdout, `routes.ts:1: imports apiserver/record/feed.ts; ${only('the record', 'apiserver/satellites.ts')}`)
  t.match(stdout, 'cluster.ts:1: imports cli/join/index.ts; instead: join stands beside the core: no file of the core')
  const election = only('the election', 'controllers/elected.ts')
  t.match(stdout, `index.ts:1: imports controllers/leader-election/elector.ts; ${election}`)
  t.notMatch(stdout, /^(apiserver\/satellites|cli\/load)/m)
})

t.test('rooms, doors and satellites of the table are there', async (t) => {
  const root = join(import.meta.dirname, '../..')
  const named = [
    ...rooms.flatMap(({ folder, door = folder }) => [folder, door]),
    ...satellites.flatMap(({ folders, roots }) => [...folders, ...roots]),
  ]
  for (const path of named) t.ok(existsSync(join(root, path)), path)
  for (const { folder, door = folder } of rooms) t.ok(door.startsWith(folder), `${door} is in its room`)
})
