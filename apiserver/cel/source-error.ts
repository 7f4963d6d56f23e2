/** Describes a problem in an expression, and at which character of the expression it occurs. */
export interface Problem {
  text: string
  at: number
}

/** Thrown where parsing cannot go on. */
export class SyntaxProblem extends Error {
  readonly at: number
  constructor(text: string, at: number) {
    super(text)
    this.at = at
  }
}

const MAX_SHOWN = 100
/** A longer line is not shown. */
const MAX_LINE = 16_384

/**
 * Problems as cel-go prints them, in the order of the text: `ERROR: <input>:1:5: undefined field 'b'`, the line, and a
 * mark under the place.
 */
export function printProblems(source: string, problems: readonly Problem[]): string {
  const places = problems.map(({ text, at }) => {
    const before = source.slice(0, at).split('\n')
    return { text, row: before.length, column: [...(before.at(-1) ?? '')].length }
  })
  places.sort((left, right) => left.row - right.row || left.column - right.column)
  const lines = source.split('\n')
  const shown = places.slice(0, MAX_SHOWN).map(({ text, row, column }) => {
    const line = (lines[row - 1] ?? '').replaceAll('\t', ' ')
    const dots = [...line].slice(0, column).map((character) => (isWide(character) ? '．' : '.'))
    const mark = isWide([...line][column] ?? '') ? '＾' : '^'
    // An empty text has no line to be shown.
    if (source === '') return `ERROR: <input>:1:0: ${text}`
    const problem = `ERROR: <input>:${row}:${column + 1}: ${text}`
    return line.length > MAX_LINE ? problem : `${problem}\n | ${line}\n | ${dots.join('')}${mark}`
  })
  if (places.length > MAX_SHOWN) shown.push(`${places.length - MAX_SHOWN} more errors were truncated`)
  return shown.join('\n')
}
const isWide = (character: string): boolean => character > '\u007f'
