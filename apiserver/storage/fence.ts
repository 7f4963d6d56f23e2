import { StatusError } from '../../shared/api/status-error.ts'

/**
 * What a write of a leader's loops depends on: that a Lease still names its holder. A process that was halted, or whose
 * request comes late, can then change nothing more, whatever it believes.
 */
export interface Fence {
  /** Of the Lease. */
  key: string
  /** `spec.holderIdentity`. */
  holder: string
}

/** The write was refused, and nothing was written. */
export class FencedError extends StatusError {
  constructor({ key, holder }: Fence) {
    const name = key.split('/').slice(-2).join('/')
    super({ code: 409, reason: 'Conflict', message: `the Lease ${name} is not held by ${JSON.stringify(holder)}` })
  }
}

/** Throws a {@link FencedError} where `value`, what stands at the fence's key, names another holder, or nothing is there. */
export function checkFence(fence: Fence, value: string | undefined): void {
  const lease = value === undefined ? undefined : (JSON.parse(value) as { spec?: { holderIdentity?: string } })
  if (lease?.spec?.holderIdentity !== fence.holder) throw new FencedError(fence)
}
