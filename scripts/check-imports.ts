// Holds the source against scripts/import-rules.ts and finds import cycles of files and of folders. Prints every
// violation; exit code 1 if there is one.
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  type ImportRule,
  importRules,
  programs,
  type Room,
  rooms,
  type Satellite,
  satellites,
  wordRules,
} from './import-rules.ts'

interface Import {
  /** A path relative to the repository, or a package. */
  target: string
  typesOnly: boolean
  line: number
}
interface Source {
  file: string
  imports: Import[]
  lines: string[]
}

const product = [
  'apiserver/',
  'controllers/',
  'kubelet/',
  'shared/',
  'openapi/',
  'cluster/',
  'cli/',
  'library/',
  'ui/',
  'bin/',
]
const folderAdvice = 'move what both need below them, or pass it as an argument'
const sources = await sourcesIn(product)
const violations = [
  ...sources.flatMap(brokenImports),
  ...[...sources, ...(await sourcesIn(['bench/']))].flatMap(pastDoors),
  ...sources.flatMap(forbiddenWords),
  ...fileCycles(),
  ...folderCycles(),
]

for (const violation of violations) console.log(violation)
console.log(`${sources.length} files, ${violations.length} violations of the import table`)
process.exitCode = violations.length ? 1 : 0

async function sourcesIn(folders: readonly string[]): Promise<Source[]> {
  const files = await Array.fromAsync(glob(folders.map((folder) => `${folder}**/*.{ts,mjs}`)))
  return files.sort().map(parse)
}

function parse(file: string): Source {
  const text = readFileSync(file, 'utf8')
  const statement =
    /(?:^|\n)\s*(?:import|export)\s+(type\s)?[^'"`;]*?from\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)import\s+['"]([^'"]+)['"]/g
  const imports = [...text.matchAll(statement)].map((match) => ({
    target: resolveTarget(file, match[2] ?? match[3] ?? match[4] ?? ''),
    typesOnly: match[1] !== undefined,
    line: text.slice(0, match.index + match[0].length).split('\n').length,
  }))
  return { file, imports, lines: withoutComments(text).split('\n') }
}

function resolveTarget(file: string, target: string): string {
  return target.startsWith('.') ? join(dirname(file), target) : target
}

/** Keeps the line numbers. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, '')).replace(/(^|\s)\/\/.*$/gm, '$1')
}

function brokenImports({ file, imports }: Source): string[] {
  return imports.flatMap((imported) =>
    importRules
      .filter((rule) => forbids(rule, file, imported))
      .map(({ instead }) => `${file}:${imported.line}: imports ${imported.target}; instead: ${instead}`),
  )
}

function forbids(rule: ImportRule, file: string, { target, typesOnly }: Import): boolean {
  if (rule.files && !isIn(file, rule.files)) return false
  if (rule.except && isIn(file, rule.except)) return false
  if (rule.typesAllowed && typesOnly) return false
  if (isIn(target, rule.but ?? [])) return false
  if (rule.membersOf && areTwoMembers(rule.membersOf, file, target)) return true
  return isIn(target, rule.imports ?? [])
}

/** `core/pod.ts` and `core/pod/defaults.ts` are one member; `core/pod.ts` and `core/node.ts` are two. */
function areTwoMembers(folder: string, file: string, target: string): boolean {
  if (!file.startsWith(folder) || !target.startsWith(folder)) return false
  const member = (path: string) => path.slice(folder.length).split(/[./]/, 2).join('/')
  return member(file) !== member(target)
}

/** Imports of a satellite that are no doors of the core, and those of the core that are satellites. */
function pastDoors({ file, imports }: Source): string[] {
  const own = satelliteOf(file)
  return imports.flatMap(({ target, line }) => {
    const other = satelliteOf(target)
    if (own === other) return []
    const advice = own ? !other && doorAdvice(own, target) : other && roomOf(file) && meeting(file, other)
    return advice ? [`${file}:${line}: imports ${target}; instead: ${advice}`] : []
  })
}

function meeting(file: string, { name, roots }: Satellite): string | undefined {
  if (isIn(file, roots)) return undefined
  const where = roots.length > 0 ? `only ${roots.join(', ')} imports it` : 'no file of the core imports it'
  return `${name} stands beside the core: ${where}`
}

function doorAdvice({ name }: Satellite, target: string): string | undefined {
  const room = roomOf(target)
  if (!room || target === room.door) return undefined
  return room.door
    ? `${name} stands beside the core: the door of ${room.folder} is ${room.door}`
    : `${name} stands beside the core, and ${room.folder} has no door: take what is needed as an argument`
}

function satelliteOf(file: string): Satellite | undefined {
  return satellites.find(({ folders }) => isIn(file, folders))
}

/** The innermost one. */
function roomOf(file: string): Room | undefined {
  const found = rooms.filter(({ folder }) => file.startsWith(folder))
  return found.sort((one, other) => other.folder.length - one.folder.length)[0]
}

function forbiddenWords({ file, lines }: Source): string[] {
  return wordRules
    .filter(({ except }) => !isIn(file, except))
    .flatMap(({ word, instead }) =>
      lines.flatMap((line, index) => {
        const found = word.exec(line)
        return found ? [`${file}:${index + 1}: says ${found[0]}; instead: ${instead}`] : []
      }),
    )
}

function isIn(file: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith('/') ? file.startsWith(place) : file === place))
}

/** Imports of types count: files in a cycle cannot be read, tested or moved one by one. */
function fileCycles(): string[] {
  const graph = new Map(sources.map(({ file, imports }) => [file, imports.map(({ target }) => target)]))
  return cyclesIn(graph).map((cycle) => `cycle: ${cycle.join(' → ')}; instead: move what both need into a third file`)
}

/** The same for the folders of one folder. The files beside them are the ground that all of them stand on. */
function folderCycles(): string[] {
  const levels = new Map<string, Map<string, Set<string>>>()
  for (const { file, imports } of sources.filter(({ file }) => !programs.includes(file))) {
    for (const { target } of imports) {
      const [parent, one, other] = siblings(file, target)
      if (one === undefined || other === undefined) continue
      const level = levels.get(parent) ?? new Map()
      levels.set(parent, level.set(one, (level.get(one) ?? new Set<string>()).add(other)))
    }
  }
  return [...levels.values()].flatMap((level) =>
    cyclesIn(level).map((cycle) => `folders in a cycle: ${cycle.join(' → ')}; instead: ${folderAdvice}`),
  )
}

/** The folders, below one parent, in which two files stand; undefined where one of them stands in the parent itself. */
function siblings(file: string, target: string): [parent: string, one?: string, other?: string] {
  const [one, other] = [file.split('/'), target.split('/')]
  let depth = 0
  while (one[depth] === other[depth]) depth++
  const parent = one.slice(0, depth).join('/')
  if (depth >= one.length - 1 || depth >= other.length - 1) return [parent]
  return [parent, one.slice(0, depth + 1).join('/'), other.slice(0, depth + 1).join('/')]
}

/** At least one path through each cycle of a graph. */
function cyclesIn(graph: ReadonlyMap<string, Iterable<string>>): string[][] {
  const finished = new Set<string>()
  const found: string[][] = []
  const visit = (node: string, trail: string[]): void => {
    const start = trail.indexOf(node)
    if (start >= 0) {
      found.push([...trail.slice(start), node])
      return
    }
    if (finished.has(node)) return
    for (const next of graph.get(node) ?? []) visit(next, [...trail, node])
    finished.add(node)
  }
  for (const node of graph.keys()) visit(node, [])
  return found
}
