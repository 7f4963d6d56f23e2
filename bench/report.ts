/** One line of the table. `ceiling` is a bare server or process of the same shape, taken in the same run. */
export interface Row {
  what: string
  unit: string
  ours: number
  ceiling?: number
  /** The fraction of the ceiling that we mean to reach; for what should be small (times, memory), the multiple we mean to stay below. */
  goal?: number
  /** A limit in the row's own unit, where there is no ceiling. */
  limit?: number
  smallerIsBetter?: boolean
  /** kube-apiserver 1.36 with etcd on two such cores (pods: KWOK's simulated ones). */
  real?: number
}

const headings = [
  'what',
  'unit',
  'Kubestage',
  'ceiling',
  'ratio',
  'goal',
  'reached',
  'kube-apiserver + etcd',
  'times that',
]

export function table(rows: readonly Row[]): string {
  const lines = [headings, headings.map(() => '---'), ...rows.map(cells)]
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const pad = (text: string, i: number): string => (text === '---' ? '-'.repeat(widths[i]!) : text.padEnd(widths[i]!))
  return lines.map((line) => `| ${line.map(pad).join(' | ')} |`).join('\n')
}

function cells(row: Row): string[] {
  const { what, unit, ours, ceiling, goal, limit, smallerIsBetter, real } = row
  const ratio = ceiling === undefined ? undefined : ours / ceiling
  const sign = smallerIsBetter ? '≤' : '≥'
  const wanted = goal === undefined ? limit : goal
  const actual = goal === undefined ? ours : ratio
  const reached =
    wanted !== undefined && actual !== undefined && (smallerIsBetter ? actual <= wanted : actual >= wanted)
  const advantage = real === undefined ? undefined : smallerIsBetter ? real / ours : ours / real
  return [
    what,
    unit,
    figure(ours),
    figure(ceiling),
    ratio === undefined ? '' : ratio.toFixed(2),
    wanted === undefined ? '' : `${sign} ${figure(wanted)}`,
    wanted === undefined ? '' : reached ? 'yes' : 'no',
    figure(real),
    advantage === undefined ? '' : `${advantage.toFixed(1)} ×`,
  ]
}

function figure(value: number | undefined): string {
  if (value === undefined) return ''
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value.toFixed(value >= 10 ? 1 : 2)
}
