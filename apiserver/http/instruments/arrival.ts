import type { FaultEffect, Faults } from '../../instruments/faults.ts'
import type { Journal } from '../../instruments/journal.ts'
import type { ObservedRequest } from '../../instruments/request-filter.ts'

export interface ArrivedRequest extends ObservedRequest {
  userAgent?: string
}

/** Says what the instruments make of a request that has come. */
export interface Arrival {
  effect?: FaultEffect
  /** Completes the request's entry in the journal; absent where none is kept. */
  leave?(end: RequestEnd): void
}

export interface RequestEnd {
  /** Holds the status code; 0 says that there was no answer. */
  code: number
  durationMs: number
  /** The name of what was created, which the request did not say. */
  name?: string
}

/** Notes a request in the journal, and finds the fault that strikes it. */
export function arrive(
  { journal, faults }: { journal: Journal; faults: Faults },
  { userAgent, ...observed }: ArrivedRequest,
): Arrival {
  const effect = faults.strike(observed)
  if (!journal.isOpen) return { effect }
  const entry = journal.begin({ ...observed, userAgent, ...(effect && { fault: describe(effect) }) })
  return {
    effect,
    leave({ code, durationMs, name }) {
      entry.name ??= name
      journal.end(entry, code, durationMs)
    },
  }
}

function describe(effect: FaultEffect): string {
  return Object.entries(effect)
    .map(([name, value]) => `${name}=${typeof value === 'object' ? value.code : value}`)
    .join(' ')
}
