import {
  type Finding,
  findingsOf,
  isBad,
  type Rehearsal,
  type Report,
  type WorkloadReport,
} from '../../cli/rehearse/report.ts'

/** Applications of which another set of faults was found, a line each. Notes do not count. */
export const differingFaults = (one: Report, other: Report): string[] =>
  differing(one.workloads, other.workloads, nameOf, (workload) => faultsOf(findingsOf(workload).filter(isBad)))

/** Deaths in which other faults were found, a line each. Notes do not count. */
export const differingVerdicts = (one: Report, other: Report): string[] =>
  differingRows(one, other, ({ findings }) => faultsOf(findings.filter(isBad)))

/** Deaths of which anything else was told: notes, and how containers exited. A line each. */
export const differingNotes = (one: Report, other: Report): string[] => {
  const told = differingVerdicts(one, other).map((line) => line.split(': ')[0])
  const lines = differingRows(
    one,
    other,
    ({ findings, exitCodes }) => `${faultsOf(findings)}, exit ${exitCodes.join(' ')}`,
  )
  return lines.filter((line) => !told.includes(line.split(': ')[0]))
}

function differingRows(one: Report, other: Report, shown: (rehearsal: Rehearsal) => string): string[] {
  return one.workloads.flatMap((workload) => {
    const same = other.workloads.find((candidate) => nameOf(candidate) === nameOf(workload))
    const name = ({ way }: Rehearsal): string => `${nameOf(workload)} ${way}`
    return differing(workload.rehearsals, same?.rehearsals ?? [], name, shown)
  })
}

const nameOf = ({ file = '', name }: WorkloadReport): string => `${file} ${name}`.trim()

function differing<Item>(
  some: readonly Item[],
  others: readonly Item[],
  name: (item: Item) => string,
  shown: (item: Item) => string,
): string[] {
  const told = (items: readonly Item[]) => new Map(items.map((item) => [name(item), shown(item)]))
  const [a, b] = [told(some), told(others)]
  return [...new Set([...a.keys(), ...b.keys()])]
    .filter((key) => a.get(key) !== b.get(key))
    .map((key) => `${key}: ${a.get(key) ?? 'nothing'} / ${b.get(key) ?? 'nothing'}`)
}

const faultsOf = (findings: readonly Finding[]): string =>
  [...new Set(findings.map(({ fault, severity }) => (severity === 'bad' ? fault : `(${fault})`)))].sort().join(' ') ||
  'dies well'
