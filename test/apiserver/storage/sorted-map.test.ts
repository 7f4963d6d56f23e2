import t from 'tap'
import { SortedMap } from '../../../apiserver/storage/sorted-map.ts'

const prefixes = ['/pods/a/', '/pods/b/', '/pods/b0/', '/pods/']

/** Keys of three namespaces, in an order of their own. */
function filled(): { map: SortedMap<{ key: string }>; keys: string[] } {
  const map = new SortedMap<{ key: string }>()
  const keys = new Set<string>()
  for (let i = 0; i < 3_000; i++) keys.add(`${prefixes[i % 3]}pod-${(i * 7_919) % 3_000}`)
  for (const key of keys) map.set({ key })
  return { map, keys: [...keys].sort() }
}

t.test('A page has the first values after a key, and the count of the rest', (t) => {
  const { map, keys } = filled()
  for (const prefix of prefixes) {
    const all = keys.filter((key) => key.startsWith(prefix))
    for (const [from, limit] of [
      [-1, 1],
      [-1, 500],
      [0, 10],
      [499, 500],
      [all.length - 11, 10],
      [all.length - 5, 10],
    ]) {
      const page = map.range(prefix, all[from!], limit).map(({ key }) => key)
      t.same(page, all.slice(from! + 1, from! + 1 + limit!), `${prefix} ${from} ${limit}`)
      t.equal(map.count(prefix, page.at(-1)!), all.length - all.indexOf(page.at(-1)!) - 1)
    }
  }
  t.end()
})

t.test('A page of many values takes no more steps than one of few', (t) => {
  const map = new SortedMap<{ key: string }>()
  let reads = 0
  const value = (i: number) => ({
    get key() {
      reads++
      return `/pods/${String(i).padStart(6, '0')}`
    },
  })
  for (let i = 0; i < 10_000; i++) map.set(value(i))
  reads = 0
  const page = map.range('/pods/', '/pods/002000', 500)
  t.equal(map.count('/pods/', page.at(-1)!.key), 7_499)
  t.ok(reads < 5_000, `${reads} keys were read`)
  t.end()
})
