import { readInputText } from './input.ts'
import { nearest } from './nearest.ts'
import { ConfigError, type Options, UsageError } from './option.ts'
import { EntryError, record } from './option-types.ts'
import { whyRefused } from './system-errors.ts'
import { parseYaml } from './yaml.ts'

/**
 * Reads a YAML (or JSON) file and returns its values by option name. `keys` are all keys that the file may have, for
 * any program; keys for other programs are left out. Throws a UsageError that names the file and line.
 */
export function readConfigFile(file: string, options: Options, keys: Options = options): Record<string, unknown> {
  const source = read(file)
  const content = parse(file, source)
  const values: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(content)) {
    const at = `${file}:${lineOf(source, key)}`
    if (!Object.hasOwn(keys, key)) throw unknownKey(at, key, Object.keys(keys))
    const known = Object.hasOwn(options, key) ? options[key] : undefined
    if (!known) continue
    try {
      values[key] = known.type.fromFile(value)
    } catch (error) {
      const place = error instanceof EntryError ? `${file}:${lineOfEntry(source, key, error.entry)}` : at
      throw new UsageError(`${place}: ${key} ${(error as Error).message}`)
    }
  }
  return values
}

function read(file: string): string {
  try {
    return readInputText(file)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(
      code === 'ENOENT'
        ? `${file}: no such file; --config names the config file`
        : `${file}: cannot be read: ${whyRefused(error as Error)}`,
    )
  }
}

function parse(file: string, source: string): Record<string, unknown> {
  let content: unknown
  try {
    content = parseYaml(source)
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

/** Says why the parser refused the text. For a duplicate key the parser does not name the key; its line does. */
function whyNoYaml(reason = '', line = ''): string {
  const [, ...keys] = /^[\s{]*(?:"([^"]*)"|'([^']*)'|([^"']+?))\s*:(?:\s|$)/.exec(line) ?? []
  const key = keys.find(Boolean)
  if (reason === 'duplicated mapping key' && key) return `"${key}" stands there twice`
  return `not valid YAML${reason ? ` (${reason})` : ''}`
}

const elsewhere = 'kubestage config --schema lists all'

function unknownKey(at: string, key: string, known: string[]): UsageError {
  const near = nearest(key, known)
  return new UsageError(`${at}: unknown key "${key}"${near ? `; did you mean "${near}"?` : ` (${elsewhere})`}`)
}

/** 1-based; top-level keys stand at the beginning of a line (or anywhere, in JSON). */
const lineOf = (source: string, key: string): number => Math.max(0, indexOf(source.split('\n'), key)) + 1

/** Returns the line of an entry of the map, or list, `key`; the line of the key if the whole value stands there. */
function lineOfEntry(source: string, key: string, entry: string): number {
  const start = lineOf(source, key)
  const below = source
    .split('\n')
    .slice(start)
    .findIndex((line) => entryPattern(entry).test(line))
  return below < 0 ? start : start + below + 1
}

function indexOf(lines: readonly string[], key: string): number {
  const pattern = new RegExp(`^[\\s{]*["']?${escaped(key)}["']?\\s*:`)
  return lines.findIndex((line) => pattern.test(line))
}

const entryPattern = (entry: string): RegExp => new RegExp(`^[\\s{-]*["']?${escaped(entry)}["']?\\s*(:|,|#|$)`)

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
