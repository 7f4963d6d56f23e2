import { writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { ConfigError } from '../../shared/config/option.ts'
import { parseYaml } from '../../shared/config/yaml.ts'
import { readRegularFile } from '../../shared/files/regular-file.ts'

/** Describes a change of one entry in a map of a config file. */
export interface Edit {
  /** Key of the map in the file, such as `image`. */
  key: string
  pattern: string
  /** Holds the new value; absent if the entry is removed. */
  value?: string | string[]
}

type Content = Record<string, Record<string, unknown> | undefined>

/**
 * Writes entries into a YAML file and leaves everything else as it is, including comments. Throws a ConfigError if the
 * map is written in a style that cannot be edited.
 */
export function editConfigFile(file: string, edits: readonly Edit[]): void {
  const before = readIfThere(file)
  const after = edits.reduce((source, edit) => edited(source, edit), before)
  const wanted = edits.reduce(expected, contentOf(before, file))
  if (!isDeepStrictEqual(contentOf(after, file), wanted)) {
    const [first] = edits
    throw new ConfigError(
      `${file}: the map ${first?.key} is written in a way that cannot be changed here; change "${first?.pattern}" by hand`,
    )
  }
  writeFileSync(file, after)
}

function readIfThere(file: string): string {
  try {
    return readRegularFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

function contentOf(source: string, file: string): Content {
  try {
    return parseYaml(source) as Content
  } catch {
    throw new ConfigError(`${file}: not valid YAML`)
  }
}

/** Returns what the file has to mean afterwards. */
function expected(content: Content, { key, pattern, value }: Edit): Content {
  const { [pattern]: _, ...others } = content[key] ?? {}
  const { [key]: __, ...rest } = content
  const entries = value === undefined ? others : { ...others, [pattern]: value }
  return Object.keys(entries).length ? { ...rest, [key]: entries } : rest
}

/** A new entry stands first, since the first that fits counts. */
function edited(source: string, { key, pattern, value }: Edit): string {
  const lines = source === '' ? [] : source.replace(/\n$/, '').split('\n')
  const at = lines.findIndex((line) => new RegExp(`^${key}:\\s*(#.*)?$`).test(line))
  const entryText = `'${pattern.replaceAll("'", "''")}': ${JSON.stringify(value)}`
  if (at < 0) {
    if (value === undefined) return source
    return [...lines, `${key}:`, `  ${entryText}`, ''].join('\n')
  }
  const length = lines.slice(at + 1).findIndex((line) => /^[^\s#]/.test(line))
  const end = length < 0 ? lines.length : at + 1 + length
  const block = lines.slice(at + 1, end)
  const indent = /^ +/.exec(block.find((line) => /^ +[^\s#]/.test(line)) ?? '  ')?.[0] ?? '  '
  const rest = withoutEntry(block, indent, pattern)
  const now = value === undefined ? rest : [indent + entryText, ...rest]
  const isEmpty = now.every((line) => /^\s*(#.*)?$/.test(line))
  const head = isEmpty ? [] : [lines[at] ?? '']
  return [...lines.slice(0, at), ...head, ...now, ...lines.slice(end), ''].join('\n')
}

/** Removes all lines of the entry: deeper ones, and the items of a list that stands at its own depth. */
function withoutEntry(block: readonly string[], indent: string, pattern: string): string[] {
  const keys = [pattern, `'${pattern.replaceAll("'", "''")}'`, JSON.stringify(pattern)].map((key) => `${indent}${key}:`)
  const start = block.findIndex((line) => keys.some((key) => line.startsWith(key)))
  if (start < 0) return [...block]
  const belongs = (line: string): boolean => line.startsWith(`${indent} `) || line.startsWith(`${indent}- `)
  const length = block.slice(start + 1).findIndex((line) => !belongs(line))
  return [...block.slice(0, start), ...(length < 0 ? [] : block.slice(start + 1 + length))]
}
