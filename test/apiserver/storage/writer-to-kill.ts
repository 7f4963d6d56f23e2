// Writes objects as quickly as it can, eight writers at a time, and prints the number of each that it was told is written.
import { openSqliteStorage } from '../../../apiserver/storage/sqlite/sqlite.ts'

const [file = '', first = '0', count = '0'] = process.argv.slice(2)
const storage = await openSqliteStorage({ file })
let next = Number(first)
const end = next + Number(count)

async function write(): Promise<void> {
  while (next < end) {
    const number = next++
    const result = await storage.put({ key: `/registry/${number}`, value: `value ${number}`, expect: 'absent' })
    if (!result.ok) throw new Error(`${number} is there already`)
    process.stdout.write(`${number}\n`)
  }
}

await Promise.all(Array.from({ length: 8 }, write))
await storage.close()
