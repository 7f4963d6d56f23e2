/** Sums up the result of one death, or of the check of a manifest. */
export type Status = 'well' | 'note' | 'doubt' | 'bad'

export const statuses: Readonly<Record<Status, { mark: string; words: string }>> = {
  well: { mark: '✓', words: 'dies well' },
  note: { mark: '!', words: 'dies well, with notes' },
  doubt: { mark: '?', words: 'inconclusive in faster time' },
  bad: { mark: '✗', words: 'does not die well' },
}

/** A fault counts also where faster time leaves it in doubt, as in the exit code. */
export function statusOf(severities: readonly unknown[], inDoubt = false): Status {
  if (severities.includes('bad')) return 'bad'
  if (inDoubt) return 'doubt'
  return severities.length > 0 ? 'note' : 'well'
}
