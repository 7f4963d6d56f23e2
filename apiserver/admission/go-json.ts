const escapes: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
}

/** Escapes in a JSON text what Go escapes. */
export const escapedAsGo = (json: string): string => json.replace(/[<>&\u2028\u2029]/g, (char) => escapes[char]!)
