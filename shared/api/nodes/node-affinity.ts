import { ownValue } from '../json/own-value.ts'
import type { Node, PodSpec } from '../types.ts'

type Term = NonNullable<
  NonNullable<
    NonNullable<NonNullable<PodSpec['affinity']>['nodeAffinity']>['requiredDuringSchedulingIgnoredDuringExecution']
  >['nodeSelectorTerms']
>[number]
type Requirement = NonNullable<Term['matchExpressions']>[number]

/** Returns true if a pod's nodeSelector and its required node affinity let it run on the node. */
export function matchesNodeSelection(
  spec: Pick<PodSpec, 'nodeSelector' | 'affinity'>,
  { metadata }: Pick<Node, 'metadata'>,
): boolean {
  const labels = metadata.labels ?? {}
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => ownValue(labels, key) === value)
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return selected && (!required || required.nodeSelectorTerms.some((term) => matchesTerm(term, { metadata })))
}

/** Sum of the weights of the preferred terms that match. */
export function preferredNodeWeight(spec: Pick<PodSpec, 'affinity'>, node: Pick<Node, 'metadata'>): number {
  const preferred = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  return preferred.reduce((sum, { weight, preference }) => sum + (matchesTerm(preference, node) ? weight : 0), 0)
}

/** All of a term's requirements must hold; an empty term matches nothing. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: Term, { metadata }: Pick<Node, 'metadata'>): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false
  const fields: Record<string, string | undefined> = { 'metadata.name': metadata.name }
  return (
    matchExpressions.every((requirement) => holds(requirement, ownValue(metadata.labels, requirement.key))) &&
    matchFields.every((requirement) => holds(requirement, fields[requirement.key]))
  )
}

function holds({ operator, values = [] }: Requirement, actual: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return actual !== undefined && values.includes(actual)
    case 'NotIn':
      return actual === undefined || !values.includes(actual)
    case 'Exists':
      return actual !== undefined
    case 'DoesNotExist':
      return actual === undefined
    case 'Gt':
      return isInteger(actual) && Number(actual) > Number(values[0])
    case 'Lt':
      return isInteger(actual) && Number(actual) < Number(values[0])
    default:
      return false
  }
}

const isInteger = (text: string | undefined): text is string => text !== undefined && /^-?\d+$/.test(text)
