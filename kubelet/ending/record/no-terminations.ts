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

/** For a node that writes nothing down. */
export const noTerminations: TerminationRecorder = {
  killBegins: () => unrecorded,
  endsIdle() {},
  podEnded() {},
  flush: async () => {},
}
