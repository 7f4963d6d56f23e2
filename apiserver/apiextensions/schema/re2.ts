import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

/** Loaded with the first pattern. */
let library: { RE2JS: typeof RE2JS } | undefined
function load(): { RE2JS: typeof RE2JS } {
  library ??= createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }
  return library
}

/** Patterns of custom resources are RE2: linear in the text for any pattern. Compiled once per pattern. */
const compiled = new Map<string, RE2JS | Error>()
const MAX_COMPILED = 10_000

function compile(pattern: string): RE2JS | Error {
  let entry = compiled.get(pattern)
  if (entry === undefined) {
    if (compiled.size >= MAX_COMPILED) compiled.clear()
    try {
      entry = load().RE2JS.compile(pattern)
    } catch (error) {
      entry = error instanceof Error ? error : new Error(String(error))
    }
    compiled.set(pattern, entry)
  }
  return entry
}

/** What Go says of a pattern that does not compile; undefined: it does. */
export function patternError(pattern: string): string | undefined {
  const entry = compile(pattern)
  return entry instanceof Error ? entry.message : undefined
}

/** Whether the pattern is found anywhere in the text; a pattern that does not compile is found in none. */
export function patternMatches(pattern: string, text: string): boolean {
  const entry = compile(pattern)
  return entry instanceof Error ? false : entry.matcher(text).find()
}

/** What the pattern finds in the text, at most `limit` times. */
export function findMatches(pattern: string, text: string, limit = Number.POSITIVE_INFINITY): string[] {
  const entry = compile(pattern)
  if (entry instanceof Error) throw entry
  const found: string[] = []
  const matcher = entry.matcher(text)
  while (found.length < limit && matcher.find()) found.push(matcher.group() ?? '')
  return found
}
