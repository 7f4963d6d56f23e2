// Holds the sources against docs/decisions/021-state-of-a-server.md: whatever outlives a request has a row there, and
// one of the process if it is a variable of a module, which all servers share. Prints every violation; exit code 1 if
// there is one.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const page = 'docs/decisions/021-state-of-a-server.md'
/** What these sections name is the same for each server of a process. */
const processWide = ['Facts of a key', 'Of the process']

interface Row {
  place: string
  section: string
}
interface Source {
  file: string
  lines: string[]
  /** Names that the file has from others. */
  imports: { from: string; original: string; name: string }[]
}
/** A variable of a module. */
interface Variable {
  name: string
  index: number
  sort: 'let' | 'map' | 'weak map' | 'object'
}

const field = /^ {2}(?:static )?(?:readonly )?#\w+[^=\n]*= new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\)/
/** In a function that makes what lives, such as `startX`. */
const local = /^ {2}const \w+[^=\n]*= new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\)/
const maker = /^(?:export )?(?:async )?function (?:start|create|build|register)/
const variable = /^(?:export )?(let|const) (\w+)[^=\n]*(?: = (.*))?$/
const map = /^new (Weak)?(?:Map|Set)(?:<.*>)?\(\)$/
const object = /^(?:[[{]|Object\.assign\(|new (?!URL|RegExp|Text|Intl)[A-Z])/
const mutators = 'push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|set|add|delete|clear'

const rows = rowsOf(readFileSync(page, 'utf8'))
const sources = globSync('{apiserver,controllers,shared,cluster}/**/*.ts').sort().map(read)
const ofServers = sources.filter(({ file }) => /^(?:apiserver|controllers)\//.test(file))
const violations = [...ofServers.flatMap(keptBelow), ...sources.flatMap(keptByModule), ...wrongRows()]

for (const violation of violations) console.log(violation)
console.log(`${sources.length} files, ${violations.length} violations of ${page}`)
process.exitCode = violations.length ? 1 : 0

function read(file: string): Source {
  const text = readFileSync(file, 'utf8')
  const imports = [...text.matchAll(/^import \{([^}]*)\} from '(\.[^']*)'$/gm)].flatMap(([, names = '', target = '']) =>
    names
      .split(',')
      .map((part) => part.trim().split(' as '))
      .map(([original = '', name = original]) => ({ from: join(dirname(file), target), original, name })),
  )
  return { file, lines: text.split('\n'), imports }
}

function rowsOf(text: string): Row[] {
  return text.split(/^## /m).flatMap((part) => {
    const [section = '', ...lines] = part.split('\n')
    const cells = lines.filter((line) => line.startsWith('| `')).map((line) => line.split('|')[1] ?? '')
    return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, place = '']) => ({ place, section })))
  })
}

/** The row with the longest name that fits. */
function rowOf(file: string): Row | undefined {
  const fitting = rows.filter(({ place }) => (place.endsWith('/') ? file.startsWith(place) : file === place))
  return fitting.sort((one, other) => other.place.length - one.place.length)[0]
}

/** Maps and sets of objects and of functions that make what lives. */
function keptBelow({ file, lines }: Source): string[] {
  if (rowOf(file)) return []
  return lines.flatMap((line, index) => {
    const isKept = field.test(line) || (local.test(line) && maker.test(lines[headOf(lines, index)] ?? ''))
    return isKept ? [`${file}:${index + 1}: \`${line.trim()}\` outlives a request, and has no row in ${page}`] : []
  })
}

function keptByModule(source: Source): string[] {
  const { file, lines } = source
  const row = rowOf(file)
  return variablesOf(lines).flatMap(({ name, index, sort }) => {
    const writers = sort === 'object' ? writersOf(source, name) : []
    if (sort === 'object' && writers.length === 0) return []
    // A folder may be full of maps that are facts; what is set anew needs a row of its own.
    if (row && (sort === 'weak map' || ((sort === 'map' || row.place === file) && isProcessWide(row)))) return []
    const by = writers.length > 0 ? ` (changed at ${writers.join(', ')})` : ''
    return [
      `${file}:${index + 1}: \`${name}\`${by} is shared by all servers of the process: make it a member of what each server makes and pass it on, or name the file in ${page} under "${processWide.join('" or "')}"`,
    ]
  })
}

function isProcessWide({ section }: Row): boolean {
  return processWide.includes(section)
}

function variablesOf(lines: readonly string[]): Variable[] {
  return lines.flatMap((line, index): Variable[] => {
    const [, keyword, name = '', value = ''] = variable.exec(line) ?? []
    if (keyword === 'let') return [{ name, index, sort: 'let' }]
    if (keyword === undefined) return []
    const [isMap, isWeak] = map.exec(value) ?? []
    if (isMap) return [{ name, index, sort: isWeak ? 'weak map' : 'map' }]
    return object.test(value) ? [{ name, index, sort: 'object' }] : []
  })
}

/** The lines of functions, in its file and in those that import it, that change the object of that name. */
function writersOf({ file, lines }: Source, original: string): string[] {
  const importing = sources.flatMap((source) =>
    source.imports
      .filter((imported) => imported.from === file && imported.original === original)
      .map(({ name }) => ({ name, source })),
  )
  return [{ name: original, source: { file, lines } }, ...importing].flatMap(({ name, source }) =>
    source.lines.flatMap((line, index) =>
      changes(line, name) && isInFunction(source.lines, index) ? [`${source.file}:${index + 1}`] : [],
    ),
  )
}

/** Whether the line changes the object of that name. */
function changes(line: string, name: string): boolean {
  if (!line.includes(name) || /^\s*(?:\*|\/[/*])/.test(line)) return false
  const start = `(?<![\\w.$#'"\`])${name}`
  const member = `${start}(?:!?\\.#?\\w+|\\[.*?\\])+`
  const assigned = `${member} [-+*/%&|?]{0,2}=(?![=>])|${member}(?:\\+\\+|--)`
  const called = `${start}(?:\\.\\w+)*\\.(?:${mutators})\\(`
  const given = `Object\\.(?:assign|defineProperty|defineProperties)\\(${name}\\b|\\bdelete ${name}[.[]`
  return new RegExp(`${assigned}|${called}|${given}`).test(line)
}

/** Lines below a loop or a condition of the module itself run once, before any server starts. */
function isInFunction(lines: readonly string[], index: number): boolean {
  return /^\s/.test(lines[index] ?? '') && !/^(?:for|while|if|try|do)\b/.test(lines[headOf(lines, index)] ?? '')
}

/** The line that begins the statement of the module around a line. */
function headOf(lines: readonly string[], index: number): number {
  return lines.findLastIndex((line, at) => at < index && /^[^\s})\]]/.test(line))
}

function wrongRows(): string[] {
  const places = rows.map(({ place }) => place)
  return places.flatMap((place, index) => [
    ...(existsSync(place) ? [] : [`${page}: ${place} does not exist`]),
    ...(places.indexOf(place) === index ? [] : [`${page}: ${place} has two rows`]),
  ])
}
