import { type FieldSelector, matchesFields } from '../../shared/api/selectors/field-selector.ts'
import { type LabelSelector, matchesLabels } from '../../shared/api/selectors/label-selector.ts'
import type { CachedObject } from './cached-object.ts'

/** Says which objects of a resource a list or a watch selects. */
export interface Selection {
  /** Holds the prefix of the keys: that of the whole resource, or of one namespace in it. */
  prefix: string
  labels: LabelSelector
  fields: FieldSelector
}

export function isSelected({ prefix, labels, fields }: Selection, object: CachedObject): boolean {
  return (
    object.key.startsWith(prefix) &&
    (fields.length === 0 || matchesFields(fields, (field) => object.field(field))) &&
    (labels.length === 0 || matchesLabels(labels, object.labels))
  )
}

export const selectsAll = ({ labels, fields }: Selection): boolean => labels.length === 0 && fields.length === 0

/** Equal for selections that choose the same, so that watches can share. */
export const selectionKey = (selection: Selection): string => JSON.stringify(selection)

/**
 * Returns the name of the one object that can be selected, where the fields ask for a name (upstream's
 * `SelectionPredicate.MatchesSingle`).
 */
export const selectedName = ({ fields }: Selection): string | undefined =>
  fields.find(({ field, equal }) => field === 'metadata.name' && equal)?.value
