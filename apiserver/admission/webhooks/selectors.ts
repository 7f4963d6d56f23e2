import { type LabelSelector, matchesLabels } from '../../../shared/api/selectors/label-selector.ts'
import { notFound } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'

const namespaces = { group: '', plural: 'namespaces' }

/** Returns the name of a request's namespace; for a request about a Namespace, the name of that Namespace. */
export const namespaceOf = ({ definition, namespace, name }: AdmissionAttributes): string | undefined =>
  isNamespace(definition) ? name || undefined : namespace

const isNamespace = ({ group, plural }: { group: string; plural: string }): boolean =>
  group === '' && plural === 'namespaces'

/**
 * Returns the Namespace of a request; for a write of a Namespace, the Namespace as the write leaves it. Throws NotFound
 * if the Namespace does not exist.
 */
export function namespaceObject(attributes: AdmissionAttributes, lookup: Lookup): KubeObject | undefined {
  const name = namespaceOf(attributes)
  if (name === undefined) return undefined
  const { definition, operation, object, subresource } = attributes
  if (isNamespace(definition) && !subresource && operation !== 'DELETE') return object
  const found = lookup(namespaces, undefined, name)
  if (!found) throw notFound(namespaces, name)
  return found
}

/**
 * Returns whether a selector matches the namespace of the request. Requests outside of any namespace always match.
 * Throws NotFound if the namespace does not exist.
 */
export function selectsNamespace(selector: LabelSelector, attributes: AdmissionAttributes, lookup: Lookup): boolean {
  if (selector.length === 0 || namespaceOf(attributes) === undefined) return true
  return matchesLabels(selector, namespaceObject(attributes, lookup)?.metadata.labels)
}

/** Returns whether a selector matches the new or the old object of the request. */
export const selectsObject = (selector: LabelSelector, { object, old }: AdmissionAttributes): boolean =>
  selector.length === 0 ||
  [object, old].some((candidate) => candidate !== undefined && matchesLabels(selector, candidate.metadata?.labels))
