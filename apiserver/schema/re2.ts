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
/** Bounds the weight of all compiled patterns together, some 60 MB. */
const MAX_COMPILED = 100_000
let instructions = 0

function compile(pattern: string): RE2JS | Error {
  let entry = compiled.get(pattern)
  if (entry === undefined) {
    const size = expandedSize(pattern)
    if (instructions + size > MAX_COMPILED) {
      compiled.clear()
      instructions = 0
    }
    instructions += size
    try {
      entry = load().RE2JS.compile(pattern)
    } catch (error) {
      entry = error instanceof Error ? error : new Error(String(error))
    }
    compiled.set(pattern, entry)
  }
  return entry
}

/** A category of characters (`\pL`) is a table of hundreds of ranges. */
const CATEGORY = 30
/** About how many instructions a pattern compiles to: repetitions are written out. */
function expandedSize(pattern: string): number {
  if (pattern.length > MAX_COMPILED) return pattern.length * CATEGORY
  const groups = [0]
  let last = 0
  for (const [token, most = ''] of pattern.matchAll(
    /\\[pP](?:\{[^}]{0,40}\}|.)|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\]){0,200}\]|\{\d+(?:,(\d*))?\}|[\s\S]/g,
  )) {
    if (token === '(') groups.push(1)
    else if (token === ')' && groups.length > 1) {
      last = groups.pop()! + 2
      groups[groups.length - 1]! += last
    } else if (token.length > 1 && token.startsWith('{'))
      groups[groups.length - 1]! += last * Math.max(Number.parseInt(token.slice(1), 10), Number(most))
    else {
      last = 1 + token.length / 8 + CATEGORY * (token.length > 1 ? token.split(/\\[pP]/).length - 1 : 0)
      groups[groups.length - 1]! += last
    }
  }
  return groups.reduce((total, size) => total + size, 2)
}

/** Returns the cost of compiling the pattern, in units of CEL; 0 if it is compiled already. */
export const patternWeight = (pattern: string): number => (compiled.has(pattern) ? 0 : 8 * expandedSize(pattern))

/**
 * Returns the highest cost of matching the pattern against a text of that length, in units of CEL; 0 if the pattern
 * does not compile.
 */
export function patternCost(pattern: string, length: number): number {
  const entry = compile(pattern)
  return entry instanceof Error ? 0 : length * (0.2 + entry.programSize() * 0.08)
}

/** Returns Go's error for a pattern that does not compile; undefined if the pattern compiles. */
export function patternError(pattern: string): string | undefined {
  const entry = compile(pattern)
  return entry instanceof Error ? entry.message : undefined
}

/** Returns whether the pattern matches anywhere in the text; false if the pattern does not compile. */
export function patternMatches(pattern: string, text: string): boolean {
  const entry = compile(pattern)
  return entry instanceof Error ? false : entry.matcher(text).find()
}

/**
 * Returns the first matches of the pattern in the text, at most `limit`. Throws the compiler's Error if the pattern
 * does not compile.
 */
export function findMatches(
  pattern: string,
  text: string,
  limit = Number.POSITIVE_INFINITY,
  onMatch: () => void = () => {},
): string[] {
  const entry = compile(pattern)
  if (entry instanceof Error) throw entry
  const found: string[] = []
  const matcher = entry.matcher(text)
  while (found.length < limit && matcher.find()) {
    onMatch()
    found.push(matcher.group() ?? '')
  }
  return found
}
