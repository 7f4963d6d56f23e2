/** A way to prove who asks, that a registry names in `WWW-Authenticate`. */
export interface Challenge {
  scheme: string
  parameters: Record<string, string>
}

const parameter = String.raw`[\w-]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s,"]+)`
const challenge = new RegExp(String.raw`([A-Za-z][\w-]*)(?:\s+(${parameter}(?:\s*,\s*${parameter})*))?`, 'y')
const separator = /[\s,]*/y

/** Reads the headers; what is malformed ends the list. */
export function readChallenges(headers: string | string[] | undefined): Challenge[] {
  return [headers ?? []].flat().flatMap((header) => {
    const found: Challenge[] = []
    for (let at = 0; at < header.length; ) {
      separator.lastIndex = at
      separator.exec(header)
      challenge.lastIndex = separator.lastIndex
      const [, scheme, parameters = ''] = challenge.exec(header) ?? []
      if (!scheme) break
      at = challenge.lastIndex
      found.push({ scheme: scheme.toLowerCase(), parameters: readParameters(parameters) })
    }
    return found
  })
}

function readParameters(text: string): Record<string, string> {
  const pairs = text.matchAll(/([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g)
  return Object.fromEntries(
    [...pairs].map(([, name = '', quoted, plain = '']) => [
      name.toLowerCase(),
      quoted === undefined ? plain : quoted.replace(/\\(.)/g, '$1'),
    ]),
  )
}
