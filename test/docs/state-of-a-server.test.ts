import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { repository } from '../harness/cluster.ts'

const program = join(repository, 'scripts/check-state.ts')
const page = 'docs/decisions/021-state-of-a-server.md'

/** What the check says of a tree of these files; `sections` are the rows of the page. */
function check(test: Test, files: Record<string, string>, sections: Record<string, string[]> = {}) {
  const root = test.testdir()
  const rows = Object.entries(sections).map(
    ([title, places]) =>
      `## ${title}\n\n| where | what |\n|---|---|\n${places.map((place) => `| \`${place}\` | x |\n`).join('')}`,
  )
  for (const [file, text] of Object.entries({ [page]: `# State\n\n${rows.join('\n')}`, ...files })) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return spawnSync(process.execPath, [program], { cwd: root, encoding: 'utf8' })
}

t.test('what outlives a request needs a row', async (t) => {
  const kept = {
    'a map of an object': 'class Known {\n  readonly #byName = new Map<string, number>()\n}\n',
    'a map of what a function starts': 'export function startLoop(): void {\n  const seen = new Set<string>()\n}\n',
    'a map of a module': 'const seen = new Map<string, number>()\n',
    'a weak map of a module': 'const seen = new WeakMap<object, number>()\n',
    'a variable of a module': 'let count = 0\n',
  }
  for (const [what, text] of Object.entries(kept))
    await t.test(what, async (t) => {
      const file = 'apiserver/known.ts'
      const bare = check(t, { [file]: text })
      t.equal(bare.status, 1)
      t.match(bare.stdout, `${file}:`)
      t.equal(check(t, { [file]: text }, { 'Facts of a key': [file] }).status, 0)
    })
})

const limits = `export const limits = {\n  celSteps: 1_000_000,\n}\n`
const changes = {
  'Object.assign': 'Object.assign(limits, { celSteps: 1 })',
  'an assignment': 'limits.celSteps = 1',
  'a sum': 'limits.celSteps += 1',
  'a computed member': "limits['celSteps'] = 1",
  'a deletion': 'delete limits.celSteps',
}

t.test('an object of a module that the start of a server changes', async (t) => {
  const writer = (text: string): string =>
    `import { limits } from './limits.ts'\n\nexport function startServer(): void {\n  ${text}\n}\n`
  for (const [what, text] of Object.entries(changes))
    await t.test(what, async (t) => {
      const { status, stdout } = check(t, { 'apiserver/limits.ts': limits, 'apiserver/server.ts': writer(text) })
      t.equal(status, 1)
      t.match(stdout, 'apiserver/limits.ts:1: `limits` (changed at apiserver/server.ts:4) is shared by all servers')
    })
  await t.test('by another name', async (t) => {
    const text = writer('known.celSteps = 1').replace('{ limits }', '{ limits as known }')
    t.equal(check(t, { 'apiserver/limits.ts': limits, 'apiserver/server.ts': text }).status, 1)
  })
  await t.test('of a folder that servers share', async (t) => {
    const files = {
      'shared/limits.ts': limits,
      'apiserver/server.ts': writer('limits.celSteps = 1').replace('./', '../shared/'),
    }
    t.match(check(t, files).stdout, 'shared/limits.ts:1: `limits` (changed at apiserver/server.ts:4)')
    const map = { 'shared/known.ts': 'class Known {\n  readonly #byName = new Map<string, number>()\n}\n' }
    t.equal(check(t, map).status, 0, 'what their objects keep belongs to those that make them')
  })
  await t.test('in its own file', async (t) => {
    const text = `${limits}export const set = (celSteps: number): void => {\n  limits.celSteps = celSteps\n}\n`
    t.equal(check(t, { 'apiserver/limits.ts': text }).status, 1)
  })
  await t.test('the row of a folder is not enough', async (t) => {
    const files = {
      'apiserver/cel/limits.ts': limits,
      'apiserver/server.ts': writer(changes['Object.assign']).replace('./', './cel/'),
    }
    t.equal(check(t, files, { 'Facts of a key': ['apiserver/cel/'] }).status, 1)
    t.equal(check(t, files, { 'Of one server': ['apiserver/cel/limits.ts'] }).status, 1, 'nor one of a server')
    t.equal(check(t, files, { 'Of the process': ['apiserver/cel/limits.ts'] }).status, 0)
  })
})

t.test('an object that is only read, or filled while its module is loaded, is no state', async (t) => {
  const read = `import { limits } from './limits.ts'\n\nexport const steps = () => {\n  return limits.celSteps === 1\n}\n`
  const table = 'const table = []\nfor (const digit of [1, 2]) {\n  table.push(digit)\n}\n'
  const { status, stdout } = check(t, {
    'apiserver/limits.ts': limits,
    'apiserver/a.ts': read,
    'apiserver/b.ts': table,
  })
  t.equal(status, 0, stdout)
})

t.test('each row is about something, once', async (t) => {
  const files = { 'apiserver/known.ts': 'export const a = 1\n' }
  t.match(check(t, files, { Facts: ['apiserver/gone.ts'] }).stdout, 'apiserver/gone.ts does not exist')
  t.match(check(t, files, { Facts: ['apiserver/known.ts', 'apiserver/known.ts'] }).stdout, 'has two rows')
})

t.test('npm run check runs it', async (t) => {
  t.match(readFileSync(join(repository, 'scripts/check.ts'), 'utf8'), 'scripts/check-state.ts')
})
