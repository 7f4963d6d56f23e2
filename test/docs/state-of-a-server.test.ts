import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repository } from '../harness/cluster.ts'

const page = 'docs/decisions/021-state-of-a-server.md'
/** A field, or a variable of a module, that begins empty. */
const state =
  /^( {2}(readonly )?#\w+[^=\n]*= new (Weak)?(Map|Set)(<.*>)?\(\)|(export )?const \w+[^=\n]*= new (Weak)?(Map|Set)(<.*>)?\(\)|let )/m

const rows = readFileSync(join(repository, page), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|')[1] ?? '')
const places = rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, place]) => place!))
const files = globSync('{apiserver,controllers}/**/*.ts', { cwd: repository })
const keeping = files.filter((file) => state.test(readFileSync(join(repository, file), 'utf8')))

t.test('whatever a server keeps in its process has a row that says how another one knows', (t) => {
  t.ok(keeping.length > 50, `${keeping.length} files`)
  for (const file of keeping)
    t.ok(
      places.some((place) => (place.endsWith('/') ? file.startsWith(place) : file === place)),
      `a row for ${file} in ${page}`,
    )
  t.end()
})

t.test('each row is about something', (t) => {
  for (const place of places) t.ok(existsSync(join(repository, place)), place)
  t.equal(new Set(places).size, places.length, 'once')
  t.end()
})
