import type { ObjectMeta } from '../../shared/api/types.ts'
import { SHRINKING } from '../workloads/shrink-reasons.ts'

const PREFIX = 'deployment.kubernetes.io'
export const REVISION = `${PREFIX}/revision`
const REVISION_HISTORY = `${PREFIX}/revision-history`
export const DESIRED_REPLICAS = `${PREFIX}/desired-replicas`
export const MAX_REPLICAS = `${PREFIX}/max-replicas`

/** What is said of the deployment alone, or of the set alone. */
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

/** An int64, as upstream parses it, and so no number, which would round it; 0 for what is none. */
export function revisionOf({ metadata }: Annotated): bigint {
  const text = metadata.annotations?.[REVISION] ?? ''
  const revision = /^[+-]?\d{1,19}$/.test(text) ? BigInt(text.replace('+', '')) : 0n
  return BigInt.asIntN(64, revision) === revision ? revision : 0n
}

/** That of a set which is to be the newest. */
export const nextRevision = (old: readonly Annotated[]): bigint =>
  BigInt.asIntN(64, old.map(revisionOf).reduce((newest, revision) => (revision > newest ? revision : newest), 0n) + 1n)

/** The annotations of the newest set: the deployment's, and its revision, with those that it had before. */
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

/** What a set is told of its deployment's size, to be scaled in proportion later. */
export const sizeAnnotations = (desired: number, max: number): Record<string, string> => ({
  [DESIRED_REPLICAS]: String(desired),
  [MAX_REPLICAS]: String(max),
})
