import { type ElectionFlags, electionOptions } from '../../shared/config/election-options.ts'
import { defaultsOf } from '../../shared/config/option.ts'
import { checkElectionTimes, type ElectionSettings } from './settings.ts'

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
