/**
 * Walks JSON text for what JSON.parse does not tell: Go's words for a syntax error, and keys that stand twice in one
 * object. Only run when JSON.parse has failed, or when duplicates matter.
 */
interface Scan {
  /** Go's message, when the text is not JSON. */
  error?: string
  /** Paths of keys that were set before, each once, in the order of the text. */
  duplicates: string[]
}

class SyntaxProblem extends Error {}

export function scanJson(text: string): Scan {
  const scanner = new Scanner(text)
  try {
    scanner.document()
    return { duplicates: scanner.duplicates }
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error
    return { error: error.message, duplicates: scanner.duplicates }
  }
}

const isBlank = (character: string | undefined) =>
  character === ' ' || character === '\n' || character === '\t' || character === '\r'
const isDigit = (character: string | undefined) => character !== undefined && character >= '0' && character <= '9'

class Scanner {
  readonly duplicates: string[] = []
  readonly #text: string
  #at = 0
  constructor(text: string) {
    this.#text = text
  }

  document(): void {
    this.#blanks()
    this.#value('', 'looking for beginning of value')
    this.#blanks()
    if (this.#at < this.#text.length) this.#fail('after top-level value')
  }

  #value(path: string, context: string): void {
    const character = this.#text[this.#at]
    const literal = ['true', 'false', 'null'].find((word) => word[0] === character)
    if (character === '{') this.#object(path)
    else if (character === '[') this.#array(path)
    else if (character === '"') this.#string()
    else if (character === '-' || isDigit(character)) this.#number()
    else if (literal) this.#literal(literal)
    else this.#fail(context)
  }

  #object(path: string): void {
    const keys = new Set<string>()
    const reported = new Set<string>()
    this.#at++
    this.#blanks()
    if (this.#text[this.#at] === '}') {
      this.#at++
      return
    }
    for (;;) {
      if (this.#text[this.#at] !== '"') this.#fail('looking for beginning of object key string')
      const key = this.#string()
      const keyPath = path === '' ? key : `${path}.${key}`
      if (keys.has(key) && !reported.has(key)) {
        reported.add(key)
        this.duplicates.push(keyPath)
      }
      keys.add(key)
      this.#blanks()
      if (this.#text[this.#at] !== ':') this.#fail('after object key')
      this.#at++
      this.#blanks()
      this.#value(keyPath, 'looking for beginning of value')
      this.#blanks()
      const next = this.#text[this.#at]
      if (next === '}') {
        this.#at++
        return
      }
      if (next !== ',') this.#fail('after object key:value pair')
      this.#at++
      this.#blanks()
    }
  }

  #array(path: string): void {
    this.#at++
    this.#blanks()
    if (this.#text[this.#at] === ']') {
      this.#at++
      return
    }
    for (let index = 0; ; index++) {
      this.#value(`${path}[${index}]`, 'looking for beginning of value')
      this.#blanks()
      const next = this.#text[this.#at]
      if (next === ']') {
        this.#at++
        return
      }
      if (next !== ',') this.#fail('after array element')
      this.#at++
      this.#blanks()
    }
  }

  #string(): string {
    const start = this.#at++
    for (;;) {
      const character = this.#text[this.#at]
      if (character === undefined || character < ' ') this.#fail('in string literal')
      this.#at++
      if (character === '"') break
      if (character === '\\') this.#escape()
    }
    return JSON.parse(this.#text.slice(start, this.#at)) as string
  }

  #escape(): void {
    const character = this.#text[this.#at]
    if (character === undefined || !'"\\/bfnrtu'.includes(character)) this.#fail('in string escape code')
    this.#at++
    if (character !== 'u') return
    for (let digit = 0; digit < 4; digit++) {
      if (!/^[0-9a-fA-F]$/.test(this.#text[this.#at] ?? '')) this.#fail('in \\u hexadecimal character escape')
      this.#at++
    }
  }

  #number(): void {
    if (this.#text[this.#at] === '-') {
      this.#at++
      if (!isDigit(this.#text[this.#at])) this.#fail('in numeric literal')
    }
    if (this.#text[this.#at] === '0') this.#at++
    else this.#digits()
    if (this.#text[this.#at] === '.') {
      this.#at++
      if (!isDigit(this.#text[this.#at])) this.#fail('after decimal point in numeric literal')
      this.#digits()
    }
    if (this.#text[this.#at] === 'e' || this.#text[this.#at] === 'E') {
      this.#at++
      if (this.#text[this.#at] === '+' || this.#text[this.#at] === '-') this.#at++
      if (!isDigit(this.#text[this.#at])) this.#fail('in exponent of numeric literal')
      this.#digits()
    }
  }

  #digits(): void {
    while (isDigit(this.#text[this.#at])) this.#at++
  }

  #literal(literal: string): void {
    for (const expected of literal) {
      if (this.#text[this.#at] !== expected) this.#fail(`in literal ${literal} (expecting '${expected}')`)
      this.#at++
    }
  }

  #blanks(): void {
    while (isBlank(this.#text[this.#at])) this.#at++
  }

  #fail(context: string): never {
    const character = this.#text[this.#at]
    if (character === undefined) throw new SyntaxProblem('unexpected end of JSON input')
    throw new SyntaxProblem(`invalid character ${quoteByte(character)} ${context}`)
  }
}

/** Go looks at bytes: of a character beyond ASCII it shows the first one. */
function quoteByte(character: string): string {
  if (character === "'") return "'\\''"
  if (character === '"') return "'\"'"
  const byte = Buffer.from(character)[0] ?? 0
  if (byte >= 0x80) return `'${String.fromCharCode(byte)}'`
  const quoted = JSON.stringify(character).slice(1, -1)
  return `'${quoted.replace(/^\\u00/, '\\x')}'`
}
