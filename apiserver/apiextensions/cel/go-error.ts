import type { TypeError as CelTypeError, ParseError } from '@marcbachmann/cel-js'

type CompileError = ParseError | CelTypeError

/** What is wrong with an expression, at which character of it. */
interface Problem {
  text: string
  at: number
}

/** A compile error as cel-go prints it: `ERROR: <input>:1:5: undefined field 'b'` and the line with a mark under the place. */
export function goCompileError(expression: string, error: CompileError, isFunction: (name: string) => boolean): string {
  const { text, at } = problemOf(expression, error, isFunction)
  const before = expression.slice(0, at).split('\n')
  const column = before.at(-1)?.length ?? 0
  const line = expression.split('\n')[before.length - 1] ?? ''
  return `ERROR: <input>:${before.length}:${column + 1}: ${text}\n | ${line}\n | ${'.'.repeat(column)}^`
}

const EXPECTED =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"

function problemOf(expression: string, error: CompileError, isFunction: (name: string) => boolean): Problem {
  const pos = error.node?.pos ?? 0
  const summary = (error.message.split('\n')[0] ?? '').trim()
  switch (error.code) {
    case 'unexpected_token': {
      const found = pos >= expression.length ? '<EOF>' : (/^(\w+|\W)/.exec(expression.slice(pos))?.[0] ?? '')
      return { text: `Syntax error: mismatched input '${found}' expecting ${EXPECTED}`, at: pos }
    }
    case 'cannot_index_type':
      return { text: `type ${quotedIn(summary)} does not support field selection`, at: dotBefore(expression, pos) }
    case 'no_such_key':
      return { text: `undefined field '${summary.replace(/^No such key: /, '')}'`, at: dotBefore(expression, pos) }
    case 'unknown_variable':
      return {
        text: `undeclared reference to '${summary.replace(/^Unknown variable: /, '')}' (in container '')`,
        at: pos,
      }
    case 'no_such_overload':
      return overloadOf(expression, summary, error)
    case 'no_matching_overload':
      return callOf(expression, summary, { pos, isFunction })
    default:
      return { text: summary, at: pos }
  }
}

const quotedIn = (summary: string): string => /'[^']*'/.exec(summary)?.[0] ?? "''"
const dotBefore = (expression: string, pos: number): number => {
  const dot = expression.lastIndexOf('.', pos)
  return dot < 0 ? pos : dot
}

/** `no such overload: int > string`. */
function overloadOf(expression: string, summary: string, error: CompileError): Problem {
  const match = /^no such overload: (.+?) (==|!=|<=|>=|[<>+\-*/%]|in|&&|\|\|) (.+)$/.exec(summary)
  const node = error.node
  const pos = node?.pos ?? 0
  if (match === null) return { text: summary, at: pos }
  const [, left = '', operator = '', right = ''] = match
  const operands =
    node !== undefined && 'args' in node && Array.isArray(node.args) ? (node.args as { range?: { end: number } }[]) : []
  const at = expression.indexOf(operator, operands[0]?.range?.end ?? pos)
  const name = operator === 'in' ? '@in' : `_${operator}_`
  return { text: `found no matching overload for '${name}' applied to '(${left}, ${right})'`, at: at < 0 ? pos : at }
}

/** `found no matching overload for 'string.find(int)'`. */
function callOf(
  expression: string,
  summary: string,
  { pos, isFunction }: { pos: number; isFunction(name: string): boolean },
): Problem {
  const match = /'(?:(.+)\.)?([\w@]+)\((.*)\)'/.exec(summary)
  const [, receiver, name = '', parameters = ''] = match ?? []
  const open = expression.indexOf('(', expression.indexOf(name, pos))
  const at = open < 0 ? pos : open
  if (!isFunction(name)) return { text: `undeclared reference to '${name}' (in container '')`, at }
  const applied = receiver === undefined ? `(${parameters})` : `${receiver}.(${parameters})`
  return { text: `found no matching overload for '${name}' applied to '${applied}'`, at }
}
