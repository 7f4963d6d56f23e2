import type { NodePressure } from '../node/node-status.ts'
import { type Observations, signals } from './signals.ts'
import { byUrgency, type Threshold, thresholdsMet } from './thresholds.ts'

/** Holds what the previous measurement found, and since when. */
export interface PressureState {
  met: readonly Threshold[]
  firstMetAtMs: ReadonlyMap<Threshold, number>
  lastSeenAtMs: Readonly<Partial<Record<keyof NodePressure, number>>>
  pressure: NodePressure
}

export const noPressure: PressureState = {
  met: [],
  firstMetAtMs: new Map(),
  lastSeenAtMs: {},
  pressure: { memory: false, disk: false, pid: false },
}

export interface PressureInput {
  thresholds: readonly Threshold[]
  observations: Observations
  /** Holds a monotonic time. */
  nowMs: number
  /** A condition stays for so long after it was last seen. */
  transitionMs: number
}

/**
 * Evaluates one measurement: which thresholds are met (a threshold stays met until enough is reclaimed), which
 * conditions follow, and which thresholds call for an eviction, the most urgent first. Pure.
 */
export function nextPressure(
  before: PressureState,
  { thresholds, observations, nowMs, transitionMs }: PressureInput,
): { state: PressureState; due: Threshold[] } {
  const unsettled = thresholdsMet(before.met, observations, { settled: true })
  const found = thresholdsMet(thresholds, observations, { settled: false })
  const met = [...new Set([...found, ...unsettled])]
  const firstMetAtMs = new Map(met.map((threshold) => [threshold, before.firstMetAtMs.get(threshold) ?? nowMs]))
  const lastSeenAtMs = { ...before.lastSeenAtMs }
  for (const { signal } of met) lastSeenAtMs[signals[signal].condition] = nowMs
  const isSeen = (condition: keyof NodePressure): boolean => {
    const atMs = lastSeenAtMs[condition]
    return atMs !== undefined && nowMs - atMs < Math.max(transitionMs, 1)
  }
  const due = met.filter((threshold) => nowMs - (firstMetAtMs.get(threshold) ?? nowMs) >= threshold.graceMs)
  const pressure = { memory: isSeen('memory'), disk: isSeen('disk'), pid: isSeen('pid') }
  return { state: { met: due, firstMetAtMs, lastSeenAtMs, pressure }, due: due.toSorted(byUrgency) }
}
