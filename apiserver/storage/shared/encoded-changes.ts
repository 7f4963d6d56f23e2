import type { StorageEvent } from '../engine.ts'
import { encodeFrame, frameTypes } from './frames.ts'
import { type ChangeHead, changeKinds } from './messages.ts'

interface Sent {
  value: string
  bytes: Buffer
}

/** The bytes of what is told to members: of each batch once, for all of them. */
export class EncodedChanges {
  readonly #frames = new WeakMap<readonly StorageEvent[], Buffer[]>()
  /** Values on their way into the store, by their keys. */
  readonly #sent = new Map<string, Sent>()

  /** The value came as these bytes: they are told to others as they are. */
  note(key: string, sent: Sent): void {
    this.#sent.set(key, sent)
  }

  forget(key: string, sent: Sent): void {
    if (this.#sent.get(key) === sent) this.#sent.delete(key)
  }

  frame(events: readonly StorageEvent[]): Buffer[] {
    const known = this.#frames.get(events)
    if (known) return known
    const frame = this.encode(events, () => undefined)
    this.#frames.set(events, frame)
    return frame
  }

  /** `own`: the ID of the write by which the reader has the event's value already. */
  encode(events: readonly StorageEvent[], own: (event: StorageEvent) => number | undefined): Buffer[] {
    const heads: ChangeHead[] = []
    const bodies: Buffer[] = []
    for (const event of events) {
      const { key, revision, lastValue, value = event.entry?.value } = event
      const id = own(event)
      const text = value ?? lastValue
      if (id !== undefined) heads.push([key, revision, changeKinds.own, id])
      else if (text === undefined) heads.push([key, revision, changeKinds.delete, 0])
      else {
        const bytes = this.#bytesOf(key, text)
        const kind = value === undefined ? changeKinds.deleteWithLastValue : changeKinds.put
        heads.push([key, revision, kind, bytes.length])
        bodies.push(bytes)
      }
    }
    return encodeFrame(frameTypes.changes, heads, bodies)
  }

  #bytesOf(key: string, text: string): Buffer {
    const sent = this.#sent.get(key)
    return sent?.value === text ? sent.bytes : Buffer.from(text)
  }
}
