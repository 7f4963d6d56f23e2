// Every check that runs no test: every failure, one verdict. `npm run test:quick` and `npm test` run the tests.
import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'

const checks: Record<string, string[]> = {
  // What was checked before is remembered, so that only the files that a change concerns are checked again.
  types: ['tsc', '--noEmit', '--incremental', '--tsBuildInfoFile', 'node_modules/.cache/types.tsbuildinfo'],
  lint: ['biome', 'check', '--diagnostic-level=error', '.'],
  imports: ['node', 'scripts/check-imports.ts'],
  state: ['node', 'scripts/check-state.ts'],
  tidy: ['node', 'scripts/check-tidy.ts'],
  words: ['node', 'scripts/words.ts'],
  fragments: ['node', 'scripts/fragments.ts'],
  generated: ['node', 'openapi/check.ts'],
  kinds: ['node', 'scripts/kinds-table.ts'],
  reference: ['node', 'scripts/reference-docs.ts'],
  reasons: ['node', 'scripts/reasons-table.ts'],
  limits: ['node', 'scripts/limits-table.ts'],
  pictures: ['node', 'scripts/pictures.ts'],
}

const run = promisify(execFile)
const waiting = Object.entries(checks)
const failed: string[] = []

await Promise.all(Array.from({ length: availableParallelism() }, runNext))
console.log(failed.length ? `\nfailed: ${failed.join(', ')}` : '\neverything is fine')
process.exitCode = failed.length ? 1 : 0

async function runNext(): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) await check(...next)
}

async function check(name: string, [command = '', ...args]: string[]): Promise<void> {
  try {
    await run(command, args)
    console.log(`ok     ${name}`)
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { stdout?: string; stderr?: string }
    failed.push(name)
    console.log(`FAILED ${name}\n${stdout || stderr ? `${stdout}${stderr}` : message}`)
  }
}
