/**
 * Prints the test files of one part of a CI run, one a line: `node scripts/test-parts.ts early` those that need no program
 * which `.ci/run` builds or installs beside `npm ci`, so that they run meanwhile; `late` the others.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

type Part = 'early' | 'late'

/** Files that use such a program. A test that is one of them, or imports one, runs late. */
const users = [
  'test/apiserver/http2/h2spec.test.ts',
  'test/apiserver/protobuf/upstream.test.ts',
  'test/clients/*.test.ts',
  'test/docs/snippets.test.ts',
  'test/e2e/go-controller.test.ts',
  'test/harness/{containerd,etcd,kubectl,sample-apiserver,toolchains}.ts',
  'test/robustness/checker.ts',
]

/** Returns the test files of a part, in the order of their names. */
export function testsOf(part: Part): string[] {
  const using = new Set(globSync(users))
  const isLate = (test: string): boolean => reachedFrom(test).some((file) => using.has(file))
  return globSync('test/**/*.test.ts', { exclude: ['**/node_modules/**'] })
    .sort()
    .filter((test) => isLate(test) === (part === 'late'))
}

/** Returns the file and the files of tests that it imports, directly or by another. */
export function reachedFrom(test: string): string[] {
  const reached = new Set([test])
  for (const file of reached) for (const other of importsOf(file)) reached.add(other)
  return [...reached]
}

const known = new Map<string, string[]>()
function importsOf(file: string): string[] {
  let imports = known.get(file)
  if (!imports) {
    const targets = readFileSync(file, 'utf8').matchAll(/\b(?:from|import\()\s*'(\.[^']+)'/g)
    imports = [...targets].map(([, target = '']) => join(dirname(file), target)).filter(isOfTests)
    known.set(file, imports)
  }
  return imports
}
const isOfTests = (file: string): boolean => file.startsWith('test/') && file.endsWith('.ts') && existsSync(file)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [part] = process.argv.slice(2)
  if (part !== 'early' && part !== 'late') throw new Error('usage: node scripts/test-parts.ts early|late')
  console.log(testsOf(part).join('\n'))
}
