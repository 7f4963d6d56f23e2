/**
 * Where functions begin and end, in source as the formatter leaves it: the line that closes one is indented as its
 * first.
 */

export interface Found {
  name: string
  /** Of its first line, from 1 on. */
  line: number
  /** In lines, with the first and the last. */
  length: number
}

const statement =
  /^(?:if|else|for|while|switch|do|try|catch|finally|return|throw|case|default|await|new|class|interface|type|enum|declare)\b/
const modifiers = '(?:(?:export|default|static|async|override|get|set|private|public|protected|readonly)\\s+)*'
const method = new RegExp(`^${modifiers}(?:\\*\\s*)?(#?[\\w$]+|\\[[^\\]]+\\])\\??(?:<.*>)?\\(`)
const named = new RegExp(`^${modifiers}function\\*?\\s+([\\w$]+)`)
const assigned = /^(?:export\s+)?(?:const|let)\s+([\w$]+)/
const property = /^(['\w$#.-]+)\??\s*[:=]/

/** All functions whose body is a block of lines, inner ones too. */
export function functionsIn(lines: readonly string[]): Found[] {
  return lines.flatMap((line, index) => {
    if (!line.endsWith('{')) return []
    const first = headOf(lines, index)
    const name = nameOf(lines, first, index)
    if (name === undefined) return []
    const last = endOf(lines, index)
    return last === undefined ? [] : [{ name, line: first + 1, length: last - first + 1 }]
  })
}

const indentOf = (line: string): number => line.length - line.trimStart().length

/** A header that is spread over lines begins where its indentation was left. */
function headOf(lines: readonly string[], index: number): number {
  if (!/^\s*[)}\]>]/.test(lines[index]!)) return index
  const indent = indentOf(lines[index]!)
  let first = index - 1
  while (
    first > 0 &&
    (lines[first]!.trim() === '' || indentOf(lines[first]!) > indent || /^\s*[)}\]]/.test(lines[first]!))
  )
    first--
  return first
}

function nameOf(lines: readonly string[], first: number, last: number): string | undefined {
  const head = lines[first]!.trim()
  const isArrow = lines[last]!.endsWith('=> {')
  if (isArrow) return (assigned.exec(head) ?? property.exec(head))?.[1] ?? '(callback)'
  const known = named.exec(head)?.[1]
  if (known !== undefined) return known
  if (statement.test(head) || /[=:?]\s*\{$|=>/.test(lines[last]!.trim())) return undefined
  return /\)(?:: .+)? \{$/.test(lines[last]!) ? method.exec(head)?.[1] : undefined
}

function endOf(lines: readonly string[], begin: number): number | undefined {
  const indent = indentOf(lines[begin]!)
  for (let index = begin + 1; index < lines.length; index++) {
    if (lines[index]!.trim() !== '' && indentOf(lines[index]!) <= indent) return index
  }
  return undefined
}

/** What can be written on another line: texts, templates and regular expressions are as long as they are. */
export const withoutLiterals = (line: string): string =>
  line.replace(
    /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|\/(?![*/ ])(?:[^/\\[]|\\.|\[(?:[^\]\\]|\\.)*\])+\//g,
    '``',
  )
