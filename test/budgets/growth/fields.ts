/** Every array and map of every kind: each field of each type once. */
import type { ResourceDefinition } from '../../../apiserver/kind/resource-definition.ts'
import { resources } from '../../../apiserver/resources/index.ts'
import { fieldsOf, type KindField } from '../../harness/fields.ts'
import { collection, type Shape, shapes } from './entries.ts'
import { type Subject, type Verb, verbs } from './writes.ts'

export interface KindFields {
  kind: ResourceDefinition
  fields: KindField[]
}

const seen = new Set<string>()
export const kindsWithCollections: KindFields[] = resources
  .filter((kind) => !kind.verbs || kind.verbs.includes('create'))
  .map((kind) => ({ kind, fields: fieldsOf(kind.schema, seen).filter(({ type }) => type.item) }))
  .filter(({ fields }) => fields.length > 0)

export const subjectOf = (kind: ResourceDefinition, { path, type }: KindField, shape: Shape): Subject => ({
  kind,
  path,
  entries: (size) => collection(type, size, shape),
})

export const allShapes = Object.keys(shapes) as Shape[]
/** Objects that are answered and never stored can only be created. */
export const verbsOf = ({ virtual }: ResourceDefinition): Verb[] => (virtual ? ['create'] : verbs)
