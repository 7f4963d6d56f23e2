import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import type { Node, Pod } from '../../shared/api/types.ts'

/** Summarizes a node: its status, pressure, taints and the number of its pods. */
export interface NodeSummary {
  name: string
  status: string
  /** Lists conditions such as MemoryPressure. */
  pressure: string[]
  taints: string[]
  pods: number
}

export const summaryOf = (node: Node, pods: readonly Pod[]): NodeSummary => ({
  name: node.metadata.name ?? '',
  status: stateOf(node),
  pressure: pressureOf(node),
  taints: (node.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`),
  pods: pods.filter((pod) => pod.spec.nodeName === node.metadata.name && !hasEnded(pod)).length,
})

/** Returns the rows of a table: a head, and a line for each node. */
export const tableOf = (nodes: readonly NodeSummary[]): string[][] => [
  ['NAME', 'STATUS', 'PRESSURE', 'TAINTS', 'PODS'],
  ...nodes.map(({ name, status, pressure, taints, pods }) => [
    name,
    status,
    listed(pressure),
    listed(taints),
    `${pods}`,
  ]),
]
const listed = (words: readonly string[]): string => words.join(',') || '<none>'

function stateOf({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  const words = [ready?.status === 'True' ? 'Ready' : 'NotReady']
  if (spec?.unschedulable) words.push('SchedulingDisabled')
  const why = ready && ready.status !== 'True' ? ` (${ready.message})` : ''
  return words.join(',') + why
}

const pressureOf = ({ status }: Node): string[] =>
  (status?.conditions ?? [])
    .filter(({ type, status: state }) => type.endsWith('Pressure') && state === 'True')
    .map(({ type }) => type)
