import { UsageError } from '../../shared/config/option.ts'

/** How long what takes, in milliseconds of the machine. Upstream: client-go/tools/leaderelection. */
export interface ElectionTimes {
  /** A Lease that was not seen to change for so long is free. Whole seconds: the Lease says it in seconds. */
  leaseDurationMs: number
  /** How long a leader tries to renew its Lease before it gives up. */
  renewDeadlineMs: number
  /** Between two tries. */
  retryPeriodMs: number
}

/** Which Lease, and how long what takes. */
export interface ElectionSettings extends ElectionTimes {
  namespace: string
  name: string
}

export const jitterFactor = 1.2

/** Throws a UsageError that names the flag. */
export function checkElectionTimes({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: ElectionTimes): void {
  const refuse = (flag: string, must: string): never => {
    throw new UsageError(`--leader-elect-${flag} must be ${must}`)
  }
  if (leaseDurationMs < 1000 || leaseDurationMs % 1000 !== 0) refuse('lease-duration', 'whole seconds, at least 1s')
  if (leaseDurationMs <= renewDeadlineMs) refuse('lease-duration', 'longer than --leader-elect-renew-deadline')
  if (retryPeriodMs < 1) refuse('retry-period', 'longer than nothing')
  if (renewDeadlineMs <= retryPeriodMs * jitterFactor)
    refuse('renew-deadline', `longer than ${jitterFactor} times --leader-elect-retry-period`)
}
