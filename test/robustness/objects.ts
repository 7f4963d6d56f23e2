import type { KubeObject } from '../../shared/api/types.ts'
import type { Seen } from './history.ts'

export const finalizer = 'robustness.kubestage.dev/held'

type ConfigMapBody = KubeObject & { data?: Record<string, string> }

/** Both hold the same: half a write would show. */
export const dataOf = (value: string): Record<string, string> => ({ value, copy: value, ballast: 'x'.repeat(200) })

/** What an answer, an item of a list or an event holds of it; undefined for a Status. */
export function seenOf(body: unknown): Seen | undefined {
  const { kind, metadata, data } = (body ?? {}) as ConfigMapBody
  if (kind === 'Status' || !metadata?.uid) return undefined
  return {
    uid: metadata.uid,
    resourceVersion: Number(metadata.resourceVersion),
    value:
      data?.value === data?.copy && data?.ballast?.length === 200
        ? (data?.value ?? '')
        : `half: ${JSON.stringify(data)}`,
    hasFinalizer: metadata.finalizers?.includes(finalizer) ?? false,
    isDeleting: metadata.deletionTimestamp !== undefined,
  }
}
