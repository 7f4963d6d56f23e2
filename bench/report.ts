/** One line of the table. `ceiling` is a bare server or process of the same shape, taken in the same run. */
export interface Row {
  what: string
  unit: string
  ours: number
  ceiling?: number
  /**
   * The fraction of the ceiling that we mean to reach; for what should be small (times, memory), the multiple we mean
   * to stay below.
   */
  goal?: number
  /** A limit in the row's own unit, where there is no ceiling. */
  limit?: number
  smallerIsBetter?: boolean
}

/** One line of the table beside another server (`real`), both taken in turns in one run. */
export interface Comparison {
  what: string
  unit: string
  smallerIsBetter?: boolean
  /** The figure may be negative: no multiple of it says anything. */
  isDifference?: boolean
  figure: { ours: number; real: number }
  /** CPU time of the server per request, or delivery, in µs. */
  cpuMicroseconds?: { ours: number; real: number }
}

const headings = ['what', 'unit', 'Kubestage', 'ceiling', 'ratio', 'goal', 'reached']
const comparisonHeadings = (other: string): string[] => [
  'what',
  'unit',
  'Kubestage',
  other,
  'times that',
  'CPU µs, Kubestage',
  `CPU µs, ${other}`,
  'ratio',
]

export const table = (rows: readonly Row[]): string => aligned([headings, ...rows.map(cells)])

/** Writes a row to stderr as soon as it is measured, because the others may take minutes more, and returns it. */
export function reportNow<T extends Row | Comparison>(row: T): T {
  process.stderr.write(`${row.what}: ${figuresOf(row)}\n`)
  return row
}

function figuresOf(row: Row | Comparison): string {
  if ('ours' in row) return `${figure(row.ours)} ${row.unit}`
  const { figure: measured, unit, cpuMicroseconds: cpu } = row
  const text = `${figure(measured.ours)} and ${figure(measured.real)} ${unit}`
  return cpu ? `${text}; CPU ${figure(cpu.ours)} and ${figure(cpu.real)} µs` : text
}

/** `other`: what Kubestage is compared with. */
export const comparisonTable = (rows: readonly Comparison[], other: string): string =>
  aligned([comparisonHeadings(other), ...rows.map(comparisonCells)])

export function aligned([head = [], ...rows]: readonly string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const pad = (text: string, i: number): string => (text === '---' ? '-'.repeat(widths[i]!) : text.padEnd(widths[i]!))
  return lines.map((line) => `| ${line.map(pad).join(' | ')} |`).join('\n')
}

function cells(row: Row): string[] {
  const { what, unit, ours, ceiling, goal, limit, smallerIsBetter } = row
  const ratio = ceiling === undefined ? undefined : ours / ceiling
  const sign = smallerIsBetter ? '≤' : '≥'
  const wanted = goal === undefined ? limit : goal
  const actual = goal === undefined ? ours : ratio
  const reached =
    wanted !== undefined && actual !== undefined && (smallerIsBetter ? actual <= wanted : actual >= wanted)
  return [
    what,
    unit,
    figure(ours),
    figure(ceiling),
    ratio === undefined ? '' : ratio.toFixed(2),
    wanted === undefined ? '' : `${sign} ${figure(wanted)}`,
    wanted === undefined ? '' : reached ? 'yes' : 'no',
  ]
}

function comparisonCells({
  what,
  unit,
  smallerIsBetter,
  isDifference,
  figure: { ours, real },
  cpuMicroseconds: cpu,
}: Comparison): string[] {
  const advantage = smallerIsBetter ? real / ours : ours / real
  return [
    what,
    unit,
    figure(ours),
    figure(real),
    isDifference ? '' : `${advantage.toFixed(1)} ×`,
    figure(cpu?.ours),
    figure(cpu?.real),
    cpu ? (cpu.ours / cpu.real).toFixed(2) : '',
  ]
}

export function figure(value: number | undefined): string {
  if (value === undefined) return ''
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value.toFixed(value >= 10 ? 1 : 2)
}
