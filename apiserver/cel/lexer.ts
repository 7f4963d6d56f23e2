import { type Problem, SyntaxProblem } from './source-error.ts'
import { Uint } from './values.ts'

export interface Token {
  /** Says what the token is; for an operator or bracket it is the token's text. */
  kind: 'number' | 'string' | 'bytes' | 'name' | 'end' | (string & {})
  text: string
  value?: unknown
  at: number
}

const SPACE = /(?:\s|\/\/[^\n]*)+/y
const OPERATOR = /==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()[\]{}]/y
const NAME = /[A-Za-z_]\w*/y
const FLOAT = /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/y
const INTEGER = /(?:0[xX][0-9a-fA-F]+|\d+)[uU]?/y
const TEXT =
  /([rR]?[bB]|[bB]?[rR]|)("""(?:[^\\]|\\[\s\S])*?"""|'''(?:[^\\]|\\[\s\S])*?'''|"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')/y
const RAW_TEXT = /([rR][bB]?|[bB][rR])("""[\s\S]*?"""|'''[\s\S]*?'''|"[^"\n\r]*"|'[^'\n\r]*')/y

/**
 * The tokens of an expression, with one named end. What is none is told in `problems`, or thrown as {@link
 * SyntaxProblem}.
 */
export function tokensOf(source: string, problems: Problem[]): Token[] {
  const tokens: Token[] = []
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    return pattern.exec(source)
  }
  while (at < source.length) {
    const space = take(SPACE)
    if (space !== null) {
      at += space[0].length
      continue
    }
    const token = tokenAt(take, at)
    if (token === undefined) {
      const rest = /^["'].*/.exec(source.slice(at))?.[0] ?? source.charAt(at)
      problems.push({ text: `Syntax error: token recognition error at: '${rest}'`, at })
      at += rest.length
      continue
    }
    tokens.push(token)
    at += token.text.length
  }
  tokens.push({ kind: 'end', text: '<EOF>', at })
  return tokens
}

function tokenAt(take: (pattern: RegExp) => RegExpExecArray | null, at: number): Token | undefined {
  const raw = take(RAW_TEXT)
  if (raw !== null) return textToken(raw, at, true)
  const quoted = take(TEXT)
  if (quoted !== null) return textToken(quoted, at, false)
  const float = take(FLOAT)
  if (float !== null) return { kind: 'number', text: float[0], value: Number(float[0]), at }
  const integer = take(INTEGER)
  if (integer !== null) return integerToken(integer[0], at)
  const name = take(NAME)
  if (name !== null) return { kind: 'name', text: name[0], at }
  const operator = take(OPERATOR)
  return operator === null ? undefined : { kind: operator[0], text: operator[0], at }
}

function integerToken(text: string, at: number): Token {
  const unsigned = /[uU]$/.test(text)
  const value = BigInt(unsigned ? text.slice(0, -1) : text)
  return { kind: 'number', text, value: unsigned ? new Uint(value) : value, at }
}

function textToken([text, prefix = '', quoted = '']: RegExpExecArray, at: number, raw: boolean): Token {
  const marks = quoted.length >= 6 && quoted[1] === quoted[0] && quoted[2] === quoted[0] ? 3 : 1
  const inner = quoted.slice(marks, -marks).replaceAll('\r\n', '\n').replaceAll('\r', '\n')
  const isBytes = /[bB]/.test(prefix)
  const value = raw ? inner : unescaped(inner, isBytes, at)
  if (!isBytes) return { kind: 'string', text, value, at }
  return { kind: 'bytes', text, value: raw ? Buffer.from(inner) : Buffer.from(value, 'latin1'), at }
}

const ESCAPES: Record<string, string> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '`': '`',
  '?': '?',
}
const ESCAPE =
  /\\(?:([abfnrtv\\'"`?])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]))|([^\\]+)/g

/** Bytes come as characters of one byte each. */
function unescaped(text: string, isBytes: boolean, at: number): string {
  return text.replace(ESCAPE, (all, simple, hex, short, long, octal, bad, plain?: string) => {
    if (plain !== undefined) return isBytes ? Buffer.from(plain).toString('latin1') : plain
    if (simple !== undefined) return ESCAPES[simple] ?? all
    if (bad !== undefined || (isBytes && (short ?? long) !== undefined))
      throw new SyntaxProblem('invalid escape sequence', at)
    const code = Number.parseInt(octal ?? hex ?? short ?? long, octal === undefined ? 16 : 8)
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw new SyntaxProblem('invalid unicode code point', at)
    return String.fromCodePoint(code)
  })
}
