import type { RecordedObject } from '../../shared/record/format.ts'
import type { Ask, ContainerDeath, Death, Segment, SegmentKind } from './model.ts'
import { at, listAt, msOf, numberAt, plain, textAt } from './text.ts'

/** Bounds a hook's output, at the length that a Termination keeps. */
const maxOutput = 10_000

/** Reads a Termination (shared/api/termination.ts). */
export function deathOf(object: RecordedObject): Death {
  const startMs = msOf(at(object, 'startTime')) ?? 0
  const endMs = msOf(at(object, 'endTime')) ?? startMs
  const removed = listAt(object, 'steps').find((step) => at(step, 'name') === 'EndpointRemoved')
  const removedMs = msOf(at(removed, 'endTime')) ?? msOf(at(removed, 'startTime'))
  return {
    name: textAt(object, 'metadata', 'name'),
    startMs,
    endMs,
    graceSeconds: numberAt(object, 'gracePeriodSeconds') ?? 0,
    ...textsOf(object, 'reason', 'cause', 'message', 'verdict', 'verdictType', 'used', 'phase'),
    asks: listAt(object, 'requests').map((request) => askOf(request, Math.min(startMs, removedMs ?? startMs))),
    endpointRemovedMs: removedMs,
    lost: listAt(object, 'lostRequests').map((one) => ({
      kind: textAt(one, 'kind'),
      count: numberAt(one, 'count') ?? 0,
    })),
    containers: listAt(object, 'containers').map((container) => containerOf(container, endMs)),
  }
}

function askOf(request: unknown, otherwiseMs: number): Ask {
  return {
    ...textsOf(request, 'user', 'reason'),
    atMs: withinSecond(msOf(at(request, 'time')) ?? otherwiseMs, otherwiseMs),
    graceSeconds: numberAt(request, 'gracePeriodSeconds'),
  }
}

/** Places a time of whole seconds as late in its second as possible, but before `beforeMs`. */
const withinSecond = (ms: number, beforeMs: number): number =>
  ms % 1_000 ? ms : Math.max(ms, Math.min(ms + 999, beforeMs))

function containerOf(container: unknown, endMs: number): ContainerDeath {
  const name = textAt(container, 'name')
  return {
    name,
    ...textsOf(container, 'verdict', 'verdictType', 'used', 'signal'),
    graceSeconds: numberAt(container, 'gracePeriodSeconds') ?? 0,
    exitCode: numberAt(container, 'exitCode'),
    segments: listAt(container, 'steps').map((step) => segmentOf(step, name, endMs)),
  }
}

function segmentOf(step: unknown, container: string, endMs: number): Segment {
  const name = textAt(step, 'name')
  const startMs = msOf(at(step, 'startTime')) ?? endMs
  return {
    container,
    name,
    kind: kindOf(name),
    startMs,
    endMs: Math.max(msOf(at(step, 'endTime')) ?? endMs, startMs),
    exitCode: numberAt(step, 'exitCode'),
    httpStatus: numberAt(step, 'httpStatus'),
    output: plain(at(step, 'output'), maxOutput),
    ...textsOf(step, 'outcome', 'message'),
  }
}

function kindOf(name: string): SegmentKind {
  if (name === 'PreStop') return 'hook'
  if (name === 'WaitForContainers') return 'wait'
  return name === 'SIGKILL' ? 'kill' : 'term'
}

function textsOf<Name extends string>(value: unknown, ...names: Name[]): Record<Name, string> {
  return Object.fromEntries(names.map((name) => [name, textAt(value, name)])) as Record<Name, string>
}
