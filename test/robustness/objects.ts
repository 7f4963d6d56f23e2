import type { KubeObject } from '../../shared/api/types.ts'
import type { Seen } from './history.ts'
import { parityOf } from './selection.ts'

export const finalizer = 'robustness.kubestage.dev/held'

type ConfigMapBody = KubeObject & { data?: Record<string, string> }

/** Both hold the same: half a write would show. */
export const dataOf = (value: string): Record<string, string> => ({ value, copy: value, ballast: 'x'.repeat(200) })

/** A list, by `namespace/name`. */
export const stateOf = (items: readonly KubeObject[]): Map<string, Seen> =>
  new Map(items.map((item) => [`${item.metadata.namespace}/${item.metadata.name}`, seenOf({ ...item, kind: '' })!]))

/** What an answer, an item of a list or an event holds of it; undefined for a Status. */
export function seenOf(body: unknown): Seen | undefined {
  const { kind, metadata, data } = (body ?? {}) as ConfigMapBody
  if (kind === 'Status' || !metadata?.uid) return undefined
  return {
    uid: metadata.uid,
    resourceVersion: Number(metadata.resourceVersion),
    value:
      data?.value === data?.copy &&
      data?.ballast?.length === 200 &&
      metadata.labels?.parity === parityOf(data.value ?? '')
        ? (data?.value ?? '')
        : `half: ${JSON.stringify(data)}, ${metadata.labels?.parity}`,
    hasFinalizer: metadata.finalizers?.includes(finalizer) ?? false,
    isDeleting: metadata.deletionTimestamp !== undefined,
  }
}
