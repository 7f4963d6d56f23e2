/** Bounds the characters that the page shows of one text of the cluster. */
const maxText = 300

// Marks that reverse or hide neighbours, and control characters, are replaced: a name cannot pretend to be another.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are replaced
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/**
 * Returns a text of the cluster as it can be shown: bounded, and without characters that change how others are read.
 */
export function plain(text: unknown, max = maxText): string {
  if (typeof text !== 'string') return ''
  const part = text.length > max ? `${text.slice(0, max)}… (${text.length} characters)` : text
  return part.replace(hidden, '\ufffd')
}

/** Returns milliseconds since the epoch; undefined if the value is not a time. */
export function msOf(time: unknown): number | undefined {
  const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

type Fields = Record<string, unknown>

/** Returns a field of a value of any type, because records come from files. */
export function at(value: unknown, ...path: string[]): unknown {
  let here = value
  for (const key of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined
    here = (here as Fields)[key]
  }
  return here
}

export const listAt = (value: unknown, ...path: string[]): unknown[] => {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

export const numberAt = (value: unknown, ...path: string[]): number | undefined => {
  const found = at(value, ...path)
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined
}

export const textAt = (value: unknown, ...path: string[]): string => plain(at(value, ...path))
