import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Edit, editConfigFile } from '../../cli/image/edit-config.ts'

function edit(t: Test, before: string | undefined, ...edits: Edit[]): string {
  const file = join(t.testdir(), 'kubestage.yaml')
  if (before !== undefined) writeFileSync(file, before)
  editConfigFile(file, edits)
  return readFileSync(file, 'utf8')
}

t.test('an entry is written into a config file, and all else stays', async (t) => {
  const value = ['/bin/a', 'b c']
  const entry = `'a:*': ["/bin/a","b c"]`
  const add: Edit = { key: 'image', pattern: 'a:*', value }
  t.equal(edit(t, undefined, add), `image:\n  ${entry}\n`, 'a file that was not there')
  t.equal(edit(t, 'port: 0 # any', add), `port: 0 # any\nimage:\n  ${entry}\n`)
  t.equal(
    edit(t, `image: # mine\n    # first\n    b: /b\n\nport: 0\n`, add),
    `image: # mine\n    ${entry}\n    # first\n    b: /b\n\nport: 0\n`,
    'it stands first, as deep as the others',
  )
  for (const old of [`  'a:*': /x\n`, `  "a:*": /x # old\n`, `  a:*:\n  - x\n  - y\n`, `  'a:*':\n    - x\n`]) {
    t.equal(edit(t, `image:\n${old}  b: /b\nport: 0\n`, add), `image:\n  ${entry}\n  b: /b\nport: 0\n`, old)
  }
  t.equal(edit(t, '', { key: 'imagePath', pattern: "it's", value: '/x' }), `imagePath:\n  'it''s': "/x"\n`)
})

t.test('an entry is taken out', async (t) => {
  const remove: Edit = { key: 'image', pattern: 'a:*' }
  t.equal(edit(t, `image:\n  b: /b\n  'a:*': /x\nport: 0\n`, remove), `image:\n  b: /b\nport: 0\n`)
  t.equal(edit(t, `image:\n  'a:*': /x\nport: 0\n`, remove), `port: 0\n`, 'with the map when it was the last')
  t.equal(edit(t, `port: 0\n`, remove), `port: 0\n`)
})

t.test('what it cannot follow it leaves alone', async (t) => {
  const file = join(t.testdir(), 'kubestage.yaml')
  const edits = [{ key: 'image', pattern: 'a:*', value: '/a' }]
  for (const text of ['image: {b: /b}\n', '{"image": {"b": "/b"}}\n', 'image: &x\n  b: /b\n']) {
    writeFileSync(file, text)
    t.throws(() => editConfigFile(file, edits), { message: /change "a:\*" by hand$|not valid YAML$/ }, text)
    t.equal(readFileSync(file, 'utf8'), text)
  }
})
