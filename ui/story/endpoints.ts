import type { RecordedObject } from '../../shared/record/format.ts'
import { limits } from './model.ts'
import { at, listAt, textAt } from './text.ts'

interface Change {
  service: string
  offered: ReadonlySet<string>
  /** Pods that the Service no longer offers. */
  left: string[]
}

/** Tracks which pods each Service offers, from its EndpointSlices. */
export class Endpoints {
  readonly #slices = new Map<string, Set<string>>()

  see(object: RecordedObject, isGone: boolean): Change {
    const uid = object.metadata.uid
    const service =
      textAt(object, 'metadata', 'labels', 'kubernetes.io/service-name') || textAt(object, 'metadata', 'name')
    const before = this.#slices.get(uid) ?? new Set()
    const offered = new Set(isGone ? [] : listAt(object, 'endpoints').filter(isOffered).map(uidOf))
    if (isGone) this.#slices.delete(uid)
    else if (this.#slices.size < limits.slices || this.#slices.has(uid)) this.#slices.set(uid, offered)
    return { service, offered, left: [...before].filter((pod) => !offered.has(pod)) }
  }
}

const uidOf = (endpoint: unknown): string => textAt(endpoint, 'targetRef', 'uid')
const isOffered = (endpoint: unknown): boolean =>
  at(endpoint, 'conditions', 'ready') !== false && uidOf(endpoint) !== ''
