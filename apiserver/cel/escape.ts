/** Words that CEL keeps for itself. */
const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)
const ESCAPES: Record<string, string> = { __: '__underscores__', '.': '__dot__', '-': '__dash__', '/': '__slash__' }

/** A property's name as rules write it; undefined: they cannot. */
export function escapeName(key: string): string | undefined {
  if (!/^[A-Za-z_.\-/][\w.\-/]*$/.test(key)) return undefined
  if (RESERVED.has(key)) return `__${key}__`
  return key.replace(/__|[.\-/]/g, (part) => ESCAPES[part] ?? part)
}
