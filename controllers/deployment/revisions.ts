import type { ObjectMeta } from '../../shared/api/types.ts'
import { SHRINKING } from '../workloads/shrink-reasons.ts'

const PREFIX = 'deployment.kubernetes.io'
export const REVISION = `${PREFIX}/revision`
const REVISION_HISTORY = `${PREFIX}/revision-history`
export const DESIRED_REPLICAS = `${PREFIX}/desired-replicas`
export const MAX_REPLICAS = `${PREFIX}/max-replicas`

/** Names annotations of the deployment alone, or of the set alone. */
const ownAnnotations = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  SHRINKING,
  'deprecated.deployment.rollback.to',
])

interface Annotated {
  metadata: ObjectMeta
}

/**
 * Returns the revision of the object; 0 if the annotation is missing or invalid. A bigint, because upstream parses an
 * int64, which a number would round.
 */
export function revisionOf({ metadata }: Annotated): bigint {
  const text = metadata.annotations?.[REVISION] ?? ''
  const revision = /^[+-]?\d{1,19}$/.test(text) ? BigInt(text.replace('+', '')) : 0n
  return BigInt.asIntN(64, revision) === revision ? revision : 0n
}

/** Returns the revision that makes a set the newest. */
export const nextRevision = (old: readonly Annotated[]): bigint =>
  BigInt.asIntN(64, old.map(revisionOf).reduce((newest, revision) => (revision > newest ? revision : newest), 0n) + 1n)

/**
 * Returns the annotations of the newest set: the deployment's, the revision, and the revisions that the set had before.
 */
export function newestAnnotations(deployment: Annotated, set: Annotated, revision: bigint): Record<string, string> {
  const before = set.metadata.annotations ?? {}
  const inherited = Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !ownAnnotations.has(key))
  const annotations = { ...before, ...Object.fromEntries(inherited) }
  const former = before[REVISION]
  if (revisionOf(set) >= revision) return annotations
  annotations[REVISION] = String(revision)
  if (former) {
    const history = before[REVISION_HISTORY]
    annotations[REVISION_HISTORY] = history ? `${history},${former}` : former
  }
  return annotations
}

/** Returns the annotations that record the deployment's size on a set, for proportional scaling later. */
export const sizeAnnotations = (desired: number, max: number): Record<string, string> => ({
  [DESIRED_REPLICAS]: String(desired),
  [MAX_REPLICAS]: String(max),
})
