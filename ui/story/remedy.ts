/** Says what to change, by the type of a verdict (shared/api/termination.ts); empty if nothing is wrong. */
const remedies: Readonly<Record<string, string>> = {
  NoHandler: 'PID 1 has no handler for TERM: add one, use the exec form of the command, or run an init.',
  IgnoredSignal: 'It ignores TERM on purpose: handle it, and exit when open work is done.',
  CaughtButWentOn: 'It catches TERM and goes on: exit from the handler when open work is done.',
  Killed: 'It was killed before it ended: end sooner after TERM, or give it a longer grace period.',
  KilledAtDeadline: 'It needed more than its grace period: end sooner after TERM, or make the grace period longer.',
  HookOverran: 'The preStop hook took the whole grace period: make the hook shorter, or the grace period longer.',
  HookOverranKilled: 'The preStop hook took the whole grace period and nothing was left for TERM: shorten the hook.',
  StoppedWithError: 'It ended in time, but with an error: exit with 0 after TERM.',
  OutOfMemory: 'Its memory was used up: raise the limit, or find what needs so much while it ends.',
  EndedUnasked: 'It ended before it was asked to: find out why in its logs.',
  EndedInHook: 'It ended while its preStop hook ran: the hook should not end it, TERM does.',
}

export const remedyOf = (verdictType: string): string =>
  Object.hasOwn(remedies, verdictType) ? (remedies[verdictType] ?? '') : ''
