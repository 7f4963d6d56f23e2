import { X509Certificate } from 'node:crypto'
import type { V1CertificateSigningRequest } from '@kubernetes/client-node'
import type { WithMeta } from '../../shared/api/types.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/**
 * Returns whether a request can be deleted: it was decided an hour ago, was left undecided for a day, or its
 * certificate has expired. Upstream: pkg/controller/certificates/cleaner.
 */
export function isOver({ metadata, status }: WithMeta<V1CertificateSigningRequest>, nowMs: number): boolean {
  const conditions = status?.conditions ?? []
  if (conditions.length === 0) return nowMs - parseTime(metadata.creationTimestamp ?? '') > DAY_MS
  const decided = conditions.some(
    ({ type, lastUpdateTime }) =>
      (type === 'Approved' || type === 'Denied' || type === 'Failed') &&
      nowMs - parseTime(lastUpdateTime ?? '') > HOUR_MS &&
      (type !== 'Approved' || status?.certificate !== undefined),
  )
  return decided || (status?.certificate !== undefined && hasEnded(status.certificate, nowMs))
}

function hasEnded(certificate: string, nowMs: number): boolean {
  try {
    return new X509Certificate(Buffer.from(certificate, 'base64')).validToDate.getTime() < nowMs
  } catch {
    return false // not ours to judge
  }
}
