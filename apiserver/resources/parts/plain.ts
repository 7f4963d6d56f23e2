/** Kinds of whose rules there is little to say: what follows from group, version and kind need not be written out. */
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import { type ResourceDefinition, resource, type Stored, type Strategy } from '../../kind/resource-definition.ts'
import { zeroOf } from '../../validation/decoder.ts'
import { withEmptied } from '../../validation/emptied.ts'
import { deepEqual } from '../../values/deep-equal.ts'

/** Describes a kind that needs little more than its names. */
interface PlainKind<T extends Stored>
  extends Pick<
    ResourceDefinition<T>,
    | 'shortNames'
    | 'categories'
    | 'columns'
    | 'cells'
    | 'selectableFields'
    | 'unsupportedField'
    | 'storageVersion'
    | 'extraSubresources'
    | 'resetFields'
    | 'statusKeepsMetadata'
    | 'verbs'
  > {
  group: string
  /** Names the version; by default v1. */
  version?: string
  kind: string
  plural: string
  /** True if its objects are in namespaces. */
  namespaced?: boolean
  /** True if it has a status, which the server empties at creation and writes of the object leave alone. */
  hasStatus?: boolean
  /** Where the schemas of the group live, when it is not `io.k8s.api.<first part of the group>`. */
  schemaPackage?: string
  /** True if metadata.generation is kept, which rises with the spec. */
  countsGenerations?: boolean
  strategy?: Strategy<T>
  example: Omit<T, 'apiVersion' | 'kind'>
}

export function plain<T extends Stored & { spec?: unknown; status?: unknown }>({
  schemaPackage,
  hasStatus = false,
  countsGenerations = false,
  strategy = {},
  ...row
}: PlainKind<T>): ResourceDefinition {
  const { group, version = 'v1', kind } = row
  const schema = `${schemaPackage ?? `io.k8s.api.${group.split('.')[0]}`}.${version}.${kind}`
  return resource<T>({
    namespaced: false,
    ...row,
    version,
    singular: kind.toLowerCase(),
    schema,
    ...(hasStatus && { subresources: { status: true } }),
    strategy: {
      ...(hasStatus && {
        prepareForCreate(object: T) {
          object.status = zeroOf(`${schema}Status`)
        },
      }),
      ...(countsGenerations && { generation: { changed: contentChanged } }),
      ...strategy,
    },
    example: { apiVersion: apiVersionOf({ group, version }), kind, ...row.example } as unknown as T,
  })
}

/** Returns whether anything but metadata and status has changed. */
export function contentChanged(object: Stored, old: Stored): boolean {
  const content = (whole: Stored) => ({
    ...whole,
    metadata: undefined,
    status: undefined,
    apiVersion: undefined,
    kind: undefined,
  })
  return !deepEqual(content(object), content(old))
}

/** As {@link contentChanged}, for kinds of which upstream tells an empty list or map from an absent one. */
export const contentOrEmptinessChanged = (object: Stored, old: Stored): boolean =>
  withEmptied(object, () => contentChanged(object, old))
