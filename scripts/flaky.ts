/**
 * Says which test files have no row in test/flaky.md, so that a file that passes only alone is not forgotten:
 * `node scripts/flaky.ts test/a.test.ts …`. It never fails.
 */
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

/** Describes a file that fails among others and passes alone. */
export interface FlakyTest {
  file: string
  failed: string
  cause: string
  since: string
}

/** Returns the rows of the page's table. */
export function flakyTests(page: string): FlakyTest[] {
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) => {
    const [file = '', failed = '', cause = '', since = ''] = row
      .split(/(?<!\\)\|/)
      .slice(1)
      .map((cell) => cell.trim())
    return { file: file.replaceAll('`', ''), failed, cause, since }
  })
}

/** Returns a line for each file that has no row. */
export function reminders(files: readonly string[], page: string): string[] {
  const listed = new Set(flakyTests(page).map(({ file }) => file))
  const missing = files.filter((file) => !listed.has(file))
  return missing.map((file) => `# ${file} is not in test/flaky.md: add a row with its cause, or fix the test`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const line of reminders(process.argv.slice(2), readFileSync('test/flaky.md', 'utf8'))) console.log(line)
}
