// Runs the tests: all of them, those of the files and folders that are named, or with `--quick` the short list below.
// Every other argument is tap's.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { quickTests } from './quick-tests.ts'

const words = process.argv.slice(2).flatMap((word) => {
  if (word === '--quick') return globSync(quickTests)
  if (!existsSync(word) || !statSync(word).isDirectory()) return [word]
  const files = globSync(`${word.replace(/\/+$/, '')}/**/*.test.ts`)
  if (files.length === 0) fail(`${word} has no file that ends with .test.ts`)
  return files
})
const tap = fileURLToPath(import.meta.resolve('tap').replace(/\/tap\/dist\/.*/, '/.bin/tap'))
if (!existsSync('.tap/plugins/package.json')) spawnSync(tap, ['build'], { stdio: 'inherit' })
// The folder of bin/compile-cache.mjs, for what a test file loads of tap before test/harness/preload.mjs names it.
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/kubestage')
process.removeAllListeners('warning') // that execve is experimental
process.execve?.(process.execPath, [process.execPath, tap, ...words], process.env)

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
