// The one door: every check, every failure, one verdict.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

const unitTests = globSync([
  'test/{apiserver,cli,cluster,controllers,kubelet,library,openapi,shared}/**/*.test.ts',
  'test/docs/{links,seeds}.test.ts',
])
const checks: Record<string, string[]> = {
  types: ['tsc', '--noEmit'],
  lint: ['biome', 'check', '.'],
  imports: ['node', 'scripts/check-imports.ts'],
  tidy: ['node', 'scripts/check-tidy.ts'],
  words: ['node', 'scripts/words.ts'],
  generated: ['node', 'openapi/check.ts'],
  kinds: ['node', 'scripts/kinds-table.ts'],
  reference: ['node', 'scripts/reference-docs.ts'],
  reasons: ['node', 'scripts/reasons-table.ts'],
  limits: ['node', 'scripts/limits-table.ts'],
  pictures: ['node', 'scripts/pictures.ts'],
  unit: ['npm', 'test', '--', ...unitTests],
}

/** The unit tests alone print more than Node's default of 1 MiB, beyond which it ends the program. */
const maxOutputBytes = 256 * 1024 * 1024

const failed = Object.entries(checks).filter(([name, [command = '', ...args]]) => {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: maxOutputBytes })
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name}`)
  if (status !== 0) console.log(`${stdout}${stderr}`)
  return status !== 0
})
console.log(failed.length ? `\nfailed: ${failed.map(([name]) => name).join(', ')}` : '\neverything is fine')
process.exitCode = failed.length ? 1 : 0
