import type { Test } from 'tap'

/** Where everything needed is said to be installed, a skip is a failure. */
export function skipOrFail(t: Test, reason: string): void {
  if (process.env.KUBESTAGE_FORBID_SKIPS) t.fail(reason)
  else t.pass(reason, { skip: reason })
}
