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

/** Returns a kind of `kubestage.dev/v1` and its List. The fields stand behind `kind`, `apiVersion` and `metadata`. */
export function addedKind(kind: string, description: string, fields: Record<string, AddedField>): Addition[] {
  return [
    added(kind, description, 'ObjectMeta', "Standard object's metadata.", fields),
    added(`${kind}List`, `${kind}List is a list of ${kind}.`, 'ListMeta', 'Standard list metadata.', {
      items: { go: 'Items', shape: `[]@dev.kubestage.v1.${kind}`, goType: `[]v1.${kind}`, description: 'The objects.' },
    }),
  ]
}

function added(
  kind: string,
  description: string,
  metaType: string,
  metaDescription: string,
  fields: Record<string, AddedField>,
): Addition {
  return {
    type: `dev.kubestage.v1.${kind}`,
    description,
    kind: { group: 'kubestage.dev', version: 'v1', kind },
    fields: {
      kind: text('Kind', 'Kind is a string value representing the REST resource this object represents.'),
      apiVersion: text('APIVersion', 'APIVersion defines the versioned schema of this representation of an object.'),
      metadata: { go: metaType, shape: `@${meta}.${metaType}`, goType: `v1.${metaType}`, description: metaDescription },
      ...fields,
    },
  }
}

/** Returns a field that holds a text. */
export const text = (go: string, description: string): AddedField => ({
  go,
  shape: 'string',
  goType: 'string',
  description,
})
