import type { ContainerStop } from './container-stop.ts'
import type { TerminationRecorder } from './termination-recorder.ts'

const unrecorded: ContainerStop = {
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
  stopping: () => unrecorded,
  endsIdle() {},
  podEnded() {},
  flush: async () => {},
}
