import type { Node, Pod } from '../../shared/api/types.ts'

/** The nodes as lines of a table: what state each is in, why, and how many pods are there. */
export function nodeTable(nodes: readonly Node[], pods: readonly Pod[]): string {
  const rows = nodes.map((node) => [
    node.metadata.name ?? '',
    stateOf(node),
    pressureOf(node) || '<none>',
    (node.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).join(',') || '<none>',
    String(pods.filter((pod) => pod.spec.nodeName === node.metadata.name && !isOver(pod)).length),
  ])
  const lines = [['NAME', 'STATUS', 'PRESSURE', 'TAINTS', 'PODS'], ...rows]
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join('   ')
          .trimEnd()}\n`,
    )
    .join('')
}

function stateOf({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  const words = [ready?.status === 'True' ? 'Ready' : 'NotReady']
  if (spec?.unschedulable) words.push('SchedulingDisabled')
  const why = ready && ready.status !== 'True' ? ` (${ready.message})` : ''
  return words.join(',') + why
}

const pressureOf = ({ status }: Node): string =>
  (status?.conditions ?? [])
    .filter(({ type, status: state }) => type.endsWith('Pressure') && state === 'True')
    .map(({ type }) => type)
    .join(',')

const isOver = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'
