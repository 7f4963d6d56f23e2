import { readNamedFile } from './named-file.ts'
import { nearest } from './nearest.ts'
import { type Options, UsageError } from './option.ts'
import { EntryError, record } from './option-types.ts'
import type { SchemaMistake } from './schema-mistakes.ts'

export interface ConfigFileKeys {
  /** The options whose values are wanted. */
  options: Options
  /** All keys that the file may have, for any program. Default: those of `options`. */
  keys?: Options
  /** Checks all values by the schemas of their keys, also those for other programs. Default: no such check. */
  schemaMistakes?(content: Record<string, unknown>, keys: Options): SchemaMistake[]
}

/** A mistake at a place of the file: the keys and indexes that lead there. */
interface Mistake {
  path: readonly string[]
  message: string
}

/**
 * Reads a YAML (or JSON) file and returns its values by option name; keys for other programs are left out. Throws a
 * UsageError that names each mistake, with the file and its line.
 */
export async function readConfigFile(
  file: string,
  { options, keys = options, schemaMistakes = () => [] }: ConfigFileKeys,
): Promise<Record<string, unknown>> {
  const source = readNamedFile(file, 'no such file; --config names the config file')
  const content = await parse(file, source)
  const mistakes: Mistake[] = mistakesIn(content, keys, schemaMistakes(content, keys))
  const values: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(content)) {
    const option = Object.hasOwn(options, key) ? options[key] : undefined
    if (!option || mistakes.some(({ path }) => path[0] === key)) continue
    try {
      values[key] = option.type.fromFile(value)
    } catch (error) {
      mistakes.push(mistakeOf(error as Error, key, value))
    }
  }
  if (mistakes.length === 0) return values
  const { lineIn } = await import('./yaml.ts')
  const found = mistakes.map(({ path, message }) => ({ line: lineIn(source, path), message }))
  const lines = found.sort((a, b) => a.line - b.line).map(({ line, message }) => `${file}:${line}: ${message}`)
  throw new UsageError(lines.join('\n'))
}

/** Returns the keys that no program knows, and the values that break their schemas: one mistake for each entry. */
function mistakesIn(content: Record<string, unknown>, keys: Options, broken: readonly SchemaMistake[]): Mistake[] {
  const unknown = Object.keys(content).filter((key) => !Object.hasOwn(keys, key))
  const byEntry = new Map<string, Mistake>()
  for (const { path, message } of broken) {
    const [key = '', entry] = path
    const value = content[key]
    const part = entry === undefined ? value : entryOf(value, entry)
    const found = complaint(() => keys[key]?.type.fromFile(part))
    const words = found?.message ?? [...path.slice(1).map((part) => `"${part}"`), message].join(' ')
    byEntry.set(JSON.stringify([key, entry]), { path: path.slice(0, 2), message: `${key} ${words}` })
  }
  return [...unknown.map((key) => ({ path: [key], message: unknownKey(key, Object.keys(keys)) })), ...byEntry.values()]
}

/** Returns a map, or list, without its other entries: its type then speaks of this one. */
const entryOf = (value: unknown, entry: string): unknown =>
  Array.isArray(value) ? [value[Number(entry)]] : { [entry]: (value as Record<string, unknown>)[entry] }

function complaint(work: () => unknown): Error | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return error as Error
  }
}

function mistakeOf(error: Error, key: string, value: unknown): Mistake {
  const message = `${key} ${error.message}`
  if (!(error instanceof EntryError)) return { path: [key], message }
  const entry = Array.isArray(value) ? String(value.findIndex((one) => String(one) === error.entry)) : error.entry
  return { path: [key, entry], message }
}

async function parse(file: string, source: string): Promise<Record<string, unknown>> {
  let content: unknown
  try {
    content = jsonOf(file, source) ?? (await import('./yaml.ts')).parseYaml(source)
  } catch (error) {
    const { reason, mark } = error as { reason?: string; mark?: { line: number } }
    const line = mark?.line ?? 0
    throw new UsageError(`${file}:${line + 1}: ${whyNoYaml(reason, source.split('\n')[line])}`)
  }
  try {
    return record(content)
  } catch (error) {
    throw new UsageError(`${file}:1: the file ${(error as Error).message}`)
  }
}

/** A supervisor writes JSON for its kubelet, which then starts without a YAML parser: that saves 6 ms and 4 MB. */
function jsonOf(file: string, source: string): unknown {
  try {
    return file.endsWith('.json') ? JSON.parse(source) : undefined
  } catch {
    return undefined // The YAML parser names the line.
  }
}

/** Says why the parser refused the text. For a duplicate key the parser does not name the key; its line does. */
function whyNoYaml(reason = '', line = ''): string {
  const [, ...keys] = /^[\s{]*(?:"([^"]*)"|'([^']*)'|([^"']+?))\s*:(?:\s|$)/.exec(line) ?? []
  const key = keys.find(Boolean)
  if (reason === 'duplicated mapping key' && key) return `"${key}" is set twice`
  return `not valid YAML${reason ? ` (${reason})` : ''}`
}

const elsewhere = 'kubestage config --schema lists all'

function unknownKey(key: string, known: string[]): string {
  const near = nearest(key, known)
  return `unknown key "${key}"${near ? `; did you mean "${near}"?` : ` (${elsewhere})`}`
}
