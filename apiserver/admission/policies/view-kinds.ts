import { openApiSchemas } from '../../../openapi/schemas.ts'
import { builtInType } from '../../patch/structured-merge/built-in.ts'
import type { Type } from '../../patch/structured-merge/schema.ts'
import type { AdmissionView } from '../../registry/admission-plugin.ts'

/** The kind of a subresource: how it is read, and how it merges. */
export interface ViewKind {
  schema: string
  type: Type
}
const known = new Map<string, ViewKind | undefined>()

/** Returns the kind that a subresource shows; undefined for kinds without a schema, such as PodExecOptions. */
export function kindOfView({ group, version, kind }: AdmissionView): ViewKind | undefined {
  const id = `${group}/${version}/${kind}`
  if (!known.has(id)) {
    const schema = openApiSchemas().find(([, { 'x-kubernetes-group-version-kind': kinds = [] }]) =>
      kinds.some((other) => other.group === group && other.version === version && other.kind === kind),
    )?.[0]
    known.set(id, schema === undefined ? undefined : { schema, type: builtInType(schema) })
  }
  return known.get(id)
}
