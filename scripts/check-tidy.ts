// Finds functions above 70 lines, lines above 120 columns, and functions that are assigned to a property of
// another object. Prints each that is not listed here; exit code 1 if there is one.
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { functionsIn, withoutLiterals } from './tidy.ts'

const maxLines = 70
const maxColumns = 120

/** Files with a text of many lines that is not wrapped. */
const longTexts: Readonly<Record<string, string>> = {
  'apiserver/storage/sqlite/database.ts': 'SQL',
  'bench/options.ts': 'the help',
}

/**
 * `object.property = () =>`. V8 allocates such a function in its old generation, and then all that it keeps lives until
 * a full collection: the requests of a server by the thousand.
 */
const assignedFunction = /^\s*(?!this\b)[\w.#$[\]!?]+\.#?\w+ = (?:async )?(?:\([^()]*\)|\w+)(?:: [^=]+)? =>/

const folders = [
  'apiserver',
  'kubelet',
  'controllers',
  'cluster',
  'cli',
  'library',
  'ui',
  'shared',
  'openapi',
  'bench',
  'scripts',
]
const files = (await Array.fromAsync(glob(folders.map((folder) => `${folder}/**/*.ts`)))).sort()
const found: string[] = []

for (const file of files) {
  const lines = readFileSync(file, 'utf8').split('\n')
  for (const { name, line, length } of functionsIn(lines)) {
    if (length > maxLines) found.push(`${file}:${line}: ${name} has ${length} lines, of ${maxLines} at most`)
  }
  for (const [index, line] of lines.entries()) {
    if (assignedFunction.test(line))
      found.push(`${file}:${index + 1}: a function is assigned to a property; pass it to a method, or name it first`)
    const { length } = withoutLiterals(line)
    if (length > maxColumns && !Object.hasOwn(longTexts, file))
      found.push(`${file}:${index + 1}: ${length} columns, of ${maxColumns} at most`)
  }
}

for (const line of found) console.log(line)
console.log(`${files.length} files, ${found.length} findings`)
process.exitCode = found.length ? 1 : 0
