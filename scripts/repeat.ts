// Runs the examples for tap and node:test so many times, side by side, and prints each failure: node scripts/repeat.ts
// [TIMES=100] [WORKERS=4] [PART OF A NAME]
import { execFile } from 'node:child_process'
import { glob } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const [times = '100', workers = '4', part = ''] = process.argv.slice(2)
const env = { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'kubestage-repeat-cache') }
const files = (await Array.fromAsync(glob('examples/test-suites/{tap,node-test}/*.mjs')))
  .filter((file) => file.includes(part))
  .sort()
const turns = Array.from({ length: Number(times) }, () => files).flat()
const failures = new Map<string, number>()
let done = 0

async function work(): Promise<void> {
  for (let file = turns.shift(); file; file = turns.shift()) {
    try {
      await run(process.execPath, ['--conditions=kubestage-source', file], { env, timeout: 600_000 })
    } catch (error) {
      const { stdout = '', stderr = '', code, signal } = error as Record<string, string | undefined>
      failures.set(file, (failures.get(file) ?? 0) + 1)
      console.log(`${file} (${signal ?? code})\n${stdout}${stderr}`)
    }
    done++
    if (done % (10 * files.length) === 0) console.log(`${done / files.length} times, ${failedCount()} failed`)
  }
}
const failedCount = (): number => [...failures.values()].reduce((sum, count) => sum + count, 0)

await Promise.all(Array.from({ length: Number(workers) }, work))
console.log(`${done} runs of ${files.length} files, ${failedCount()} failed`)
process.exitCode = failedCount() > 0 ? 1 : 0
