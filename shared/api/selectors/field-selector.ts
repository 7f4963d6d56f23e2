import { badRequest } from '../status/status-errors.ts'

export interface FieldRequirement {
  field: string
  equal: boolean
  value: string
}

/** All must hold; none: everything matches. */
export type FieldSelector = readonly FieldRequirement[]

/** `fieldOf` gives a field's value as a string. */
export function matchesFields(selector: FieldSelector, fieldOf: (field: string) => string): boolean {
  for (const { field, equal, value } of selector) if ((fieldOf(field) === value) !== equal) return false
  return true
}

/**
 * Parses a `fieldSelector` query parameter such as `spec.nodeName=a,status.phase!=Running`. Throws a StatusError with
 * code 400 and upstream's message.
 */
export function parseFieldSelector(text: string): FieldSelector {
  return (
    splitTerms(text)
      .filter((term) => term !== '')
      .map((term) => parseTerm(text, term))
      // A term without a field and a value selects everything.
      .filter(({ field, value }) => field !== '' || value !== '')
  )
}

function parseTerm(text: string, term: string): FieldRequirement {
  const match = /^(.*?)(!=|==|=)(.*)$/s.exec(term)
  if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
  return { field: match[1]!, equal: match[2] !== '!=', value: unescapeValue(match[3]!) }
}

/** Splits a selector at commas that no backslash escapes. */
function splitTerms(text: string): string[] {
  const terms: string[] = []
  let start = 0
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\\') index++
    else if (text[index] === ',') {
      terms.push(text.slice(start, index))
      start = index + 1
    }
  }
  terms.push(text.slice(start))
  return terms
}

function unescapeValue(value: string): string {
  if (!/[\\,=]/.test(value)) return value
  let plain = ''
  for (let index = 0; index < value.length; index++) {
    const char = value[index]!
    if (char === '\\') {
      const next = value[++index] ?? ''
      if (next === '' || !'\\,='.includes(next)) {
        throw badRequest(`invalid field selector: invalid escape sequence: \\${next}`)
      }
      plain += next
    } else if (char === ',' || char === '=') {
      throw badRequest(`invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`)
    } else {
      plain += char
    }
  }
  return plain
}
