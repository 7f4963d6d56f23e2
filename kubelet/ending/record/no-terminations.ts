import type { KillJournal } from './kill-journal.ts'
import type { TerminationRecorder } from './termination-recorder.ts'

const unrecorded: KillJournal = {
  hookBegins() {},
  hookEnds() {},
  hookOverruns() {},
  waitBegins() {},
  waitEnds() {},
  graceShortened() {},
  signalled() {},
  ended() {},
}

/** Records nothing; a node without a record of terminations uses it. */
export const noTerminations: TerminationRecorder = {
  killBegins: () => unrecorded,
  endsIdle() {},
  podEnded() {},
  flush: async () => {},
}
