/** Printed as well where another program has the API server's port; pages show it where none has. */
const ofBusyPort = [
  / \(port \d+ is in use by another program\)$/,
  /^Port \d+ is in use by another program, so this is a free one; --port chooses\.$/,
]

/** What differs from run to run, and stands for anything of its kind. The order counts. */
const changing: readonly (readonly [RegExp, string])[] = [
  // kubectl 1.33 and older ones do not name the namespace.
  [/(?<=" deleted) from \S+ namespace$/, ''],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/\b\d\d:\d\d:\d\d\.\d{3}\b/g, 'TIME'],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UID'],
  [/\b127\.\d+\.\d+\.\d+(:\d+)?/g, 'ADDRESS'],
  [/(?<![\w.])\d+(\.\d+)?( ?m?s|m|h|d)(\d+(s|m|h))?\b/g, 'DURATION'],
  [/\b\d+(\.\d+)? MB\b/g, 'SIZE'],
  [/(?<![\w.])\d+\.\d+(?![\w.])/g, 'NUMBER'],
  [/\b(?<=Kubestage )\d+\.\d+\.\d+/g, 'VERSION'],
  [/\b(process|pid) +\d+/g, '$1 NUMBER'],
  [/(?<=[a-z0-9])\.[0-9a-z]{8}\b/g, '.SUFFIX'],
  [/-[0-9a-z]{6,10}-[0-9a-z]{5}\b/g, '-SUFFIX'],
  [/ +/g, ' '],
]

/** One line, with a word in the place of whatever differs from run to run. */
function steady(line: string): string {
  const bare = ofBusyPort.reduce((text, pattern) => text.replace(pattern, ''), line)
  return changing.reduce((text, [pattern, word]) => text.replace(pattern, word), bare).trim()
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map(steady)
    .filter((line) => line !== '')

/**
 * What a page shows is what was printed: the same lines, in the same order, but for times, addresses, ages and blanks.
 * A line `…` stands for any number of lines, `…` within a line for any text. With `anyOrder` other lines may stand between them as well.
 * With `anyNumbers` each number stands for any number.
 */
export function shows(shown: string, printed: string, { anyOrder = false, anyNumbers = false } = {}): boolean {
  if (anyNumbers) return shows(withoutNumbers(shown), withoutNumbers(printed), { anyOrder })
  const expected = linesOf(shown)
  const actual = linesOf(printed)
  if (!anyOrder) return matches(expected, actual)
  return expected.every((line) => {
    const index = actual.findIndex((other) => patternOf(line).test(other))
    return index >= 0 && actual.splice(index, 1)
  })
}

const withoutNumbers = (text: string): string => text.replace(/(?<= )\d+(?= (?!m?s\b)|$)/gm, 'N')

function matches([line, ...expected]: string[], actual: string[]): boolean {
  if (line === undefined) return actual.length === 0
  if (line === '…') return actual.some((_, index) => matches(expected, actual.slice(index))) || expected.length === 0
  const [first, ...rest] = actual
  return first !== undefined && patternOf(line).test(first) && matches(expected, rest)
}

function patternOf(line: string): RegExp {
  return new RegExp(`^${line.split('…').map(RegExp.escape).join('.*')}$`)
}
