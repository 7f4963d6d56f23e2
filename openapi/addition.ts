/**
 * Describes an addition of this project to the Kubernetes API: the Pod Termination Reason proposal, and the record of a
 * termination. Additions are schema fragments with the facts that Go types would have, and are merged into the
 * generated data.
 */
export interface Addition {
  /** OpenAPI name of the type that is added, or gets fields. */
  type: string
  /** For a new type: the type whose fields it has besides its own. */
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
