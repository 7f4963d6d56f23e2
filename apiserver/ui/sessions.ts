import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../../shared/clock/clock.ts'

/** A link is opened at once; a session lasts a working day. */
export const linkMs = 2 * 60_000
const sessionMs = 12 * 3_600_000
/** Bounds the links, and the sessions; the oldest are forgotten. */
const maxKept = 64

/** The user for which a page asks: the one that asked for its link. */
export interface Actor {
  name: string
  groups: string[]
}

/** Holds the rights that a link gives. */
export interface Grant {
  /** Names the user; absent if there is no cluster that could be asked. */
  user?: Actor
  /** If true, the page may act as the user; otherwise it only reads. */
  mayAct?: boolean
}

interface Session {
  endsMs: number
  grant: Grant
}

interface Link extends Session {
  isUsed: boolean
}

export type Redeemed = { session: string } | { refused: 'used' | 'expired' | 'unknown' }

/** Keeps one-time links to the page, and the sessions that browsers got for them. Only hashes are stored. */
export class Sessions {
  readonly #clock: Clock
  readonly #links = new Map<string, Link>()
  readonly #sessions = new Map<string, Session>()

  /** `clock`: the machine's. */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A secret that opens one session. */
  link(grant: Grant = {}): string {
    const once = secret()
    keep(this.#links, once, { endsMs: this.#clock.monotonic() + linkMs, isUsed: false, grant })
    return once
  }

  redeem(once: string): Redeemed {
    const link = this.#links.get(hashOf(once))
    if (!link) return { refused: 'unknown' }
    if (link.isUsed) return { refused: 'used' }
    if (link.endsMs < this.#clock.monotonic()) return { refused: 'expired' }
    link.isUsed = true
    const session = secret()
    keep(this.#sessions, session, { endsMs: this.#clock.monotonic() + sessionMs, grant: link.grant })
    return { session }
  }

  /** Returns the grant of a session; undefined if it has ended, or never began. */
  get(session: string): Grant | undefined {
    const found = this.#sessions.get(hashOf(session))
    return found && found.endsMs >= this.#clock.monotonic() ? found.grant : undefined
  }
}

const secret = (): string => randomBytes(32).toString('base64url')
/** A look-up by hash takes as long for a wrong secret as for an almost right one. */
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64')

function keep<Value>(kept: Map<string, Value>, text: string, value: Value): void {
  kept.set(hashOf(text), value)
  if (kept.size > maxKept) kept.delete(kept.keys().next().value!)
}
