import type { TerminatedContainer, Termination, TerminationStep } from '../../../shared/api/termination.ts'
import type { Pod } from '../../../shared/api/types.ts'
import { parseTime } from '../../../shared/clock/timestamp.ts'
import { durationMs } from '../../../shared/config/option-types.ts'
import type { RecordedLoad } from '../../../shared/record/format.ts'
import type { LoadSummary } from '../load/load-summary.ts'
import { WITNESS } from './witness.ts'

export interface Observation {
  /** The kubelet's record; absent when it could not write one. */
  termination?: Termination
  /** Last state of the pod that was seen. */
  pod?: Pod
  /** Names of processes that outlived the one that had started them. */
  children?: string[]
  /** Present only if the pod was to be restarted. */
  comesBack?: boolean
  load?: LoadSummary
  /** Holds the load by time, in intervals. */
  loads?: RecordedLoad[]
}

/** Says in numbers how a container was stopped. */
export interface Stop {
  name: string
  graceSeconds: number
  usedSeconds: number
  exitCode?: number
  hook?: { outcome: string; seconds: number; message?: string; exitCode?: number; httpStatus?: number }
  /** Signal that asked the container to stop: mostly TERM. */
  asked?: { signal: string; disposition?: string }
  killed: boolean
}

/**
 * Returns how each container but the witness was stopped. Without a record, only exit codes are known, and killed
 * containers are left out.
 */
export function stopsOf({ termination, pod }: Observation): Stop[] {
  if (termination) return (termination.containers ?? []).map(stopOf).filter(({ name }) => name !== WITNESS)
  return (pod?.status?.containerStatuses ?? []).flatMap(({ name, state }) => {
    const exitCode = state?.terminated?.exitCode
    const isTold = name !== WITNESS && exitCode !== undefined && exitCode !== KILLED
    return isTold ? [{ name, exitCode, graceSeconds: 0, usedSeconds: 0, killed: false }] : []
  })
}
/** Exit code of a container that SIGKILL ended. Only a record says what preceded the kill. */
const KILLED = 137

/** A container that had ended before the first step has no steps, and the record may omit an empty list. */
function stopOf({ name, gracePeriodSeconds, used, exitCode, steps = [] }: TerminatedContainer): Stop {
  const hook = steps.find((step) => step.name === 'PreStop')
  const signals = steps.filter((step) => step.name.startsWith('SIG'))
  const asked = signals.find((step) => step.name !== 'SIGKILL')
  return {
    name,
    graceSeconds: gracePeriodSeconds,
    usedSeconds: durationMs(used) / 1000,
    exitCode,
    hook: hook && { ...hook, outcome: hook.outcome ?? 'Failed', seconds: secondsOf(hook) },
    asked: asked && { signal: asked.name.replace('SIG', ''), disposition: asked.outcome },
    killed: signals.some((step) => step.name === 'SIGKILL'),
  }
}

const secondsOf = ({ startTime, endTime }: TerminationStep): number =>
  endTime === undefined ? 0 : (parseTime(endTime) - parseTime(startTime)) / 1000
