// Fills a small file system, makes room, and prints as JSON what its store said to that.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openSqliteStorage } from '../../../apiserver/storage/sqlite/sqlite.ts'

const [room = ''] = process.argv.slice(2)
const ballast = join(room, 'ballast')
writeFileSync(ballast, Buffer.alloc(1024 * 1024))
const storage = await openSqliteStorage({ file: join(room, 'state.db') })
const value = 'x'.repeat(20_000)
const written: string[] = []
let refused = ''
let ahead = 'written'
while (refused === '') {
  const key = `/${written.length}`
  const put = storage.put({ key, value, expect: 'absent' })
  // Decided on top of the first, so it cannot be there without it.
  const next = storage.put({ key: `${key}/next`, value: '1', expect: 'absent' })
  try {
    await put
    written.push(key)
    await next
    written.push(`${key}/next`)
  } catch (error) {
    refused = (error as Error).message
    await next.catch(() => {
      ahead = 'refused as well'
    })
  }
}
rmSync(ballast)
const { ok } = await storage.put({ key: '/afterwards', value, expect: 'absent' })
await storage.close()

const again = await openSqliteStorage({ file: join(room, 'state.db') })
const { entries } = await again.list({ prefix: '/' })
await again.close()
const intact =
  entries.length === written.length + 1 && written.every((key) => entries.some((entry) => entry.key === key))
process.stdout.write(JSON.stringify({ refused, ahead, afterwards: { ok }, intact }))
