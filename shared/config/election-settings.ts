import { type ElectionFlags, electionOptions } from './election-options.ts'
import { defaultsOf, UsageError } from './option.ts'

/** Holds the durations of an election, in milliseconds of the machine. Upstream: client-go/tools/leaderelection. */
export interface ElectionTimes {
  /** A Lease without a visible change for this time is free. Whole seconds, because the Lease stores seconds. */
  leaseDurationMs: number
  /** Limits how long a leader tries to renew its Lease before it gives up. */
  renewDeadlineMs: number
  /** Time between two attempts. */
  retryPeriodMs: number
}

/** Names the Lease of an election and holds its durations. */
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
  if (retryPeriodMs < 1) refuse('retry-period', 'longer than 0s')
  if (renewDeadlineMs <= retryPeriodMs * jitterFactor)
    refuse('renew-deadline', `longer than ${jitterFactor} times --leader-elect-retry-period`)
}

/** Throws a UsageError that names the flag. What is left out has its default. */
export function electionOf(flags: Partial<ElectionFlags>): ElectionSettings {
  const all = { ...defaultsOf(electionOptions), ...flags }
  const settings = {
    leaseDurationMs: all.leaderElectLeaseDuration,
    renewDeadlineMs: all.leaderElectRenewDeadline,
    retryPeriodMs: all.leaderElectRetryPeriod,
    name: all.leaderElectResourceName,
    namespace: all.leaderElectResourceNamespace,
  }
  checkElectionTimes(settings)
  return settings
}
