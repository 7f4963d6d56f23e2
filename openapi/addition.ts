/**
 * Describes an addition of this project to the Kubernetes API: the Pod Termination Reason proposal, and the record of a
 * termination. Additions are schema fragments with the facts that Go types would have, and are merged into the
 * generated data.
 */
export interface Addition {
  /** OpenAPI name of the type that is added, or gets fields. */
  type: string
  /** Names the type whose fields a new type has besides its own. */
  extends?: string
  description?: string
  /** Group, version and kind, if the type is a kind of the API. */
  kind?: { group: string; version: string; kind: string }
  fields: Record<string, AddedField>
}
export interface AddedField {
  go: string
  /** As in input/go-types.json: `*` pointer, `[]` list, `{}` map, then a scalar or `@` and a type. */
  shape: string
  /** Go type as the decoder's errors print it. */
  goType: string
  description: string
}

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
interface MetaField {
  type: string
  description: string
}
const objectMeta: MetaField = { type: 'ObjectMeta', description: "Standard object's metadata." }
const listMeta: MetaField = { type: 'ListMeta', description: 'Standard list metadata.' }

/** Says where kinds that are added belong to. */
export interface AddedGroup {
  group: string
  version: string
  /** OpenAPI name of the package that has the types, without the version. */
  schemaPackage: string
}
const ownGroup: AddedGroup = { group: 'kubestage.dev', version: 'v1', schemaPackage: 'dev.kubestage' }

/**
 * Returns a kind of a group, by default of `kubestage.dev/v1`, and its List. The fields stand behind `kind`,
 * `apiVersion` and `metadata`.
 */
export function addedKind(
  kind: string,
  description: string,
  fields: Record<string, AddedField>,
  { group, version, schemaPackage } = ownGroup,
): Addition[] {
  const added = (kind: string, description: string, ofMeta: MetaField, fields: Record<string, AddedField>) => ({
    type: `${schemaPackage}.${version}.${kind}`,
    description,
    kind: { group, version, kind },
    fields: {
      kind: text('Kind', 'Kind is a string value representing the REST resource this object represents.'),
      apiVersion: text('APIVersion', 'APIVersion defines the versioned schema of this representation of an object.'),
      metadata: {
        go: ofMeta.type,
        shape: `@${meta}.${ofMeta.type}`,
        goType: `v1.${ofMeta.type}`,
        description: ofMeta.description,
      },
      ...fields,
    },
  })
  const item = { shape: `[]@${schemaPackage}.${version}.${kind}`, goType: `[]${version}.${kind}` }
  return [
    added(kind, description, objectMeta, fields),
    added(`${kind}List`, `${kind}List is a list of ${kind}.`, listMeta, {
      items: { go: 'Items', ...item, description: 'The objects.' },
    }),
  ]
}

/** Returns a field that holds a text. */
export const text = (go: string, description: string): AddedField => ({
  go,
  shape: 'string',
  goType: 'string',
  description,
})
