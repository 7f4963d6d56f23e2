import { ConfigError } from '../shared/config/option.ts'

export interface NodeCounts {
  /** Says whether nodes run pods as processes. */
  kubelet: boolean
  nodes: number
  simulatedNodes: number
  /** Names the first node. */
  nodeName: string
}

export interface NodeNames {
  /** Names of the nodes that run pods as processes of this machine. */
  real: string[]
  /** Names of the nodes within the API server's process; their pods only seem to run. */
  simulated: string[]
}

/**
 * Returns how many nodes run pods as processes. Without `--nodes`, simulated nodes alone are enough, as in the library.
 * Throws a ConfigError if nodes are asked for and the kubelet is off.
 */
export function nodeCount({ kubelet, nodes, simulatedNodes }: Omit<NodeCounts, 'nodeName'>, isGiven: boolean): number {
  if (!isGiven) return simulatedNodes > 0 || !kubelet ? 0 : nodes
  if (nodes > 0 && !kubelet)
    throw new ConfigError('kubelet=false means that no pods run as processes: leave out --nodes')
  return nodes
}

/**
 * Returns the names of all nodes. One node has the given name; several count up from it: `edge` or `edge-1` is followed
 * by `edge-2`. Throws a ConfigError if a real node has the name of a simulated one.
 */
export function nodeNames({ kubelet, nodes, simulatedNodes, nodeName }: NodeCounts): NodeNames {
  const count = kubelet ? nodes : 0
  const stem = nodeName.replace(/-1$/, '')
  const real = Array.from({ length: count }, (_, index) => (index === 0 ? nodeName : `${stem}-${index + 1}`))
  const simulated = numbered('simulated', simulatedNodes)
  const twice = real.find((name) => simulated.includes(name))
  if (twice === undefined) return { real, simulated }
  throw new ConfigError(`a simulated node is called ${twice}, too; choose another name with --node-name`)
}

/** `stem-1`, `stem-2`, … */
export const numbered = (stem: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${stem}-${index + 1}`)

/** `node-1`, or `node-1 to node-3`. */
export const rangeOf = (names: readonly string[]): string => [...new Set([names[0], names.at(-1)])].join(' to ')
