import { StatusError } from '../../shared/api/status/status-error.ts'

/**
 * A fenced write succeeds only while a Lease names its holder. The loops of a leader write behind a fence: a process
 * that was paused, or whose request arrives late, can change nothing once it has lost the Lease.
 */
export interface Fence {
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
