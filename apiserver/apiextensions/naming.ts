import { deepEqual } from '../values/deep-equal.ts'
import { APPROVAL_ANNOTATION, approvalOf } from './approval.ts'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionNames,
} from './custom-resource-definition.ts'
import { conditionOf } from './custom-resource-definition.ts'

export type NewCondition = Omit<CustomResourceDefinitionCondition, 'lastTransitionTime'>
export interface NamingDecision {
  acceptedNames: CustomResourceDefinitionNames
  namesAccepted: NewCondition
  /** Holds the condition as it is before the resource is served. */
  established: NewCondition
}

const INITIAL = 'the initial names have been accepted'
const INSTALLING: NewCondition = { type: 'Established', status: 'False', reason: 'Installing', message: INITIAL }
export const ESTABLISHED: NewCondition = {
  type: 'Established',
  status: 'True',
  reason: 'InitialNamesAccepted',
  message: INITIAL,
}
const NOT_ACCEPTED: NewCondition = {
  type: 'Established',
  status: 'False',
  reason: 'NotAccepted',
  message: 'not all names are accepted',
}

/**
 * Decides which of its names a definition may use. If several definitions of a group ask for one name, the first keeps
 * it.
 */
export function decideNames(
  crd: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): NamingDecision {
  const taken = namesTaken(
    others.filter((other) => other.spec.group === crd.spec.group && other.metadata.uid !== crd.metadata.uid),
  )
  const asked = crd.spec.names
  const accepted: CustomResourceDefinitionNames = { ...(crd.status?.acceptedNames ?? { plural: '', kind: '' }) }
  const conflicts: NewCondition[] = []
  const settle = (
    field: 'plural' | 'singular' | 'kind' | 'listKind',
    used: ReadonlySet<string>,
    reason: string,
  ): void => {
    const name = asked[field] ?? ''
    if (name !== accepted[field] && used.has(name)) conflicts.push(conflict(reason, [name]))
    else accepted[field] = name
  }
  settle('plural', taken.resources, 'PluralConflict')
  settle('singular', taken.resources, 'SingularConflict')
  const clashing = (asked.shortNames ?? []).filter(
    (name) => taken.resources.has(name) && !accepted.shortNames?.includes(name),
  )
  if (clashing.length > 0) conflicts.push(conflict('ShortNamesConflict', clashing))
  else accepted.shortNames = asked.shortNames
  settle('kind', taken.kinds, 'KindConflict')
  settle('listKind', taken.kinds, 'ListKindConflict')
  accepted.categories = asked.categories
  const namesAccepted = conflicts.at(-1) ?? {
    type: 'NamesAccepted',
    status: 'True',
    reason: 'NoConflicts',
    message: 'no conflicts found',
  }
  return { acceptedNames: tidy(accepted), namesAccepted, established: establishedBefore(crd, namesAccepted) }
}

function establishedBefore(crd: CustomResourceDefinition, namesAccepted: NewCondition): NewCondition {
  const old = conditionOf(crd, 'Established')
  if (old?.status === 'True') return old
  return namesAccepted.status === 'True' ? INSTALLING : (old ?? NOT_ACCEPTED)
}

function conflict(reason: string, names: string[]): NewCondition {
  const messages = names.map((name) => `${JSON.stringify(name)} is already in use`)
  return {
    type: 'NamesAccepted',
    status: 'False',
    reason,
    message: messages.length > 1 ? `[${messages.join(', ')}]` : (messages[0] ?? ''),
  }
}

function namesTaken(others: readonly CustomResourceDefinition[]): { resources: Set<string>; kinds: Set<string> } {
  const accepted = others.map((other) => other.status?.acceptedNames).filter((names) => names !== undefined)
  const present = (names: (string | undefined)[]): Set<string> =>
    new Set(names.filter((name): name is string => Boolean(name)))
  return {
    resources: present(accepted.flatMap((names) => [names.plural, names.singular, ...(names.shortNames ?? [])])),
    kinds: present(accepted.flatMap((names) => [names.kind, names.listKind])),
  }
}

/** Leaves out empty names, as they are stored; plural and kind stay. */
const tidy = (names: CustomResourceDefinitionNames): CustomResourceDefinitionNames => ({
  plural: names.plural,
  ...(names.singular && { singular: names.singular }),
  ...(names.shortNames !== undefined && names.shortNames.length > 0 && { shortNames: names.shortNames }),
  kind: names.kind,
  ...(names.listKind && { listKind: names.listKind }),
  ...(names.categories !== undefined && names.categories.length > 0 && { categories: names.categories }),
})

/** Sets a condition in place; the time stands for the last change of its status. Says whether anything changed. */
export function setCondition(crd: CustomResourceDefinition, condition: NewCondition, now: string): boolean {
  const status = crd.status ?? { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: null }
  crd.status = status
  const conditions = status.conditions ?? []
  const index = conditions.findIndex(({ type }) => type === condition.type)
  const old = conditions[index]
  const next: CustomResourceDefinitionCondition = {
    ...condition,
    lastTransitionTime: old !== undefined && old.status === condition.status ? old.lastTransitionTime : now,
  }
  if (old !== undefined && deepEqual(old, next)) return false
  status.conditions = old === undefined ? [...conditions, next] : conditions.with(index, next)
  return true
}

/**
 * Returns the condition that says whether a definition in a group of Kubernetes itself is approved; undefined if it
 * needs no approval, or its approval annotation is missing or invalid.
 */
export function approvalCondition(crd: CustomResourceDefinition): NewCondition | undefined {
  const type = 'KubernetesAPIApprovalPolicyConformant'
  const annotation = crd.metadata.annotations?.[APPROVAL_ANNOTATION] ?? ''
  switch (approvalOf(crd)) {
    case 'approved':
      return { type, status: 'True', reason: 'ApprovedAnnotation', message: `approved in ${annotation}` }
    case 'unapproved':
      return {
        type,
        status: 'False',
        reason: 'UnapprovedAnnotation',
        message: `not approved: ${JSON.stringify(annotation)}`,
      }
    case 'missing':
    case 'invalid':
    case 'not needed':
      return undefined
  }
}
