import type { Container, Pod } from '../../../shared/api/types.ts'

export type PodSpec = Pod['spec']
export type SecurityContext = NonNullable<Container['securityContext']>
export type PodSecurityContext = NonNullable<PodSpec['securityContext']>

/** Returns all containers of a pod, in the order in which upstream visits them. */
export const containersOf = ({ initContainers = [], containers, ephemeralContainers = [] }: PodSpec): Container[] => [
  ...initContainers,
  ...containers,
  ...(ephemeralContainers as unknown as Container[]),
]

/** Returns the names of the containers for which `holds` returns true. */
export const namesOf = (
  spec: PodSpec,
  holds: (context: SecurityContext | undefined, container: Container) => boolean,
): string[] =>
  containersOf(spec)
    .filter((container) => holds(container.securityContext, container))
    .map(({ name }) => name)

export const quoted = (items: Iterable<string>): string => [...items].map((item) => `"${item}"`).join(', ')
export const sortedSet = (items: Iterable<string>): string[] => [...new Set(items)].sort()
export const plural = (word: string, count: number): string => (count === 1 ? word : `${word}s`)

/** Returns the names of containers as messages show them: `container "c"` or `containers "c", "d"`. */
export const containersText = (names: readonly string[]): string =>
  `${plural('container', names.length)} ${quoted(names)}`

/** Names the parts of a pod that set a forbidden value, as in `pod and container "c"`. Returns '' if no part does. */
export const settersText = (pod: boolean, names: readonly string[]): string =>
  [...(pod ? ['pod'] : []), ...(names.length > 0 ? [containersText(names)] : [])].join(' and ')
