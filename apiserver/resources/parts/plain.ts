/** Kinds of whose rules there is little to say: what follows from group, version and kind need not be written out. */
import { type BuiltInKind, type ResourceDefinition, resource, type Stored } from '../../kind/resource-definition.ts'
import { zeroOf } from '../../validation/decoder.ts'
import { withEmptied } from '../../validation/emptied.ts'
import { deepEqual } from '../../values/deep-equal.ts'

/** Describes a kind that needs little more than its names. */
interface PlainKind<T extends Stored> extends BuiltInKind<T> {
  /** True if it has a status, which the server empties at creation and writes of the object leave alone. */
  hasStatus?: boolean
  /** True if metadata.generation is kept, which rises with the spec. */
  countsGenerations?: boolean
}

export function plain<T extends Stored & { status?: unknown }>({
  hasStatus = false,
  countsGenerations = false,
  strategy = {},
  ...row
}: PlainKind<T>): ResourceDefinition {
  const definition = resource<T>({
    ...row,
    ...(hasStatus && { subresources: { status: true } }),
    strategy: {
      ...(hasStatus && {
        prepareForCreate(object: T) {
          object.status = zeroOf(`${definition.schema}Status`)
        },
      }),
      ...(countsGenerations && { generation: { changed: contentChanged } }),
      ...strategy,
    },
  })
  return definition
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
