// The tables of kubelet/ending/README.md: each step imports the next one, and no file of the folder imports what uses it.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

const room = 'kubelet/ending/'
const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/from '(\.[^']+)'/g)].map(([, target = '']) => join(dirname(file), target))

/** The columns of each table that name files, from top to bottom. */
const walks = readFileSync(`${room}README.md`, 'utf8')
  .split(/\n\n/)
  .map((block) => block.split('\n').map((row) => row.split('|').map((cell) => /`(kubelet\/.*\.ts)`/.exec(cell)?.[1])))
  .flatMap((rows) => (rows[0] ?? []).map((_, column) => rows.flatMap((row) => row[column] ?? [])))
  .filter((files) => files.length > 1)

t.test('a walk goes downward only', async (t) => {
  t.equal(walks.length, 3)
  for (const walk of walks) {
    for (const [index, file] of walk.slice(0, -1).entries()) {
      const next = walk[index + 1] ?? ''
      t.ok(importsOf(file).includes(next), `${file} imports ${next}`)
      t.notOk(importsOf(next).includes(file), `${next} does not import ${file}`)
    }
  }
})

t.test('the folder does not import what uses it', async (t) => {
  const users = ['pods', 'containers', 'node', 'eviction', 'admission', 'volumes', 'prober'].map(
    (folder) => `kubelet/${folder}/`,
  )
  for (const file of globSync(`${room}**/*.ts`)) {
    const upward = importsOf(file).filter((target) => users.some((folder) => target.startsWith(folder)))
    t.same(upward, [], file)
  }
})
