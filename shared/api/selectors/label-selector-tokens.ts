const symbols = ['==', '!=', '=', '!', '(', ')', ',', '>', '<'] as const

export interface Token {
  type: (typeof symbols)[number] | 'identifier' | 'in' | 'notin' | 'end'
  text: string
}

/** Splits a label selector; the last token is always `end`. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let position = 0
  while (position < text.length) {
    if (/\s/.test(text[position]!)) {
      position++
      continue
    }
    const symbol = symbols.find((candidate) => text.startsWith(candidate, position))
    const word = symbol ?? /^[^\s=!(),<>]+/.exec(text.slice(position))![0]
    tokens.push({ type: symbol ?? (word === 'in' || word === 'notin' ? word : 'identifier'), text: word })
    position += word.length
  }
  tokens.push({ type: 'end', text: '' })
  return tokens
}
