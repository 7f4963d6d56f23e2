import type { MovableClock } from '../../../shared/clock/movable-clock.ts'
import { settle } from '../../../shared/clock/settle.ts'
import type { Logger } from '../../../shared/log/log.ts'
import type { Move, TimedNode } from '../../instruments/cluster-time.ts'
import type { Faults } from '../../instruments/faults.ts'
import type { Journal, JournalEntry } from '../../instruments/journal.ts'
import type { PeerHandlers, Peers } from '../../storage/storage.ts'
import { type Arrival, type ArrivedRequest, arrive, type RequestEnd } from './arrival.ts'
import type { Operation, Wanted } from './wanted.ts'

/**
 * Servers that share a store of one of them have their instruments together: journal, faults and time are those of the
 * holder. It tells the members whether requests must be told, and moves their clocks.
 */
export interface SharedInstruments {
  /** A member's requests must be told to the holder. */
  readonly isActive: boolean
  /** Resolves to what the holder makes of a member's request. */
  arrive(request: ArrivedRequest): Promise<Arrival>
  /** Resolves to the answer of an operation: the holder carries it out, and its members know of it. */
  carryOut(path: string, method: string, wanted: Wanted, here: Operation): Promise<unknown>
  /** Tells the listeners of this process of the holder's entries, until the returned function is called. */
  follow(): Promise<() => void>
  /** Names the members for the holder's time. */
  clocks(): TimedNode[]
  moveClock(name: string, move: Move): Promise<number | undefined>
}

interface Parts {
  peers: Peers
  journal: Journal
  faults: Faults
  clock: MovableClock | undefined
  log: Logger
  operations(): Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface State {
  hasFaults: boolean
  isOpen: boolean
  movedMs: number
}

type FromMember =
  | { type: 'hello'; movedMs: number }
  | { type: 'arrive'; request: ArrivedRequest; key: number }
  | { type: 'leave'; key: number; end: RequestEnd }
  | { type: 'follow'; isOn: boolean }
  | { type: 'operation'; path: string; method: string; query: string; params: Wanted['params']; body?: object }
type FromHolder =
  | ({ type: 'state' } & State)
  | { type: 'flush' }
  | { type: 'entry'; entry: JournalEntry }
  | { type: 'move'; movedMs: number }

const holder = 'holder'
const patienceMs = 5_000
/** Moving the time takes as long as what is due on the way. */
const operationMs = 3_600_000

/** Returns the instruments of this process as part of those of all. */
export const shareInstruments = (parts: Parts): SharedInstruments =>
  parts.peers.isHolder ? new HolderInstruments(parts) : new MemberInstruments(parts)

interface Member {
  /** Completes entries of the journal, by the member's keys. */
  open: Map<number, (end: RequestEnd) => void>
  follow?: () => void
}

class HolderInstruments implements SharedInstruments {
  readonly isActive = false
  readonly #parts: Parts
  readonly #members = new Map<string, Member>()

  constructor(parts: Parts) {
    this.#parts = parts
    const { peers, journal, faults } = parts
    journal.whenChanged(() => void this.#announce())
    faults.whenChanged(() => void this.#announce())
    peers.serve({
      answer: (question, peer) => this.#answer(question as FromMember, peer),
      left: (peer) => {
        this.#members.get(peer)?.follow?.()
        this.#members.delete(peer)
      },
    })
  }

  async arrive(request: ArrivedRequest): Promise<Arrival> {
    return arrive(this.#parts, request)
  }

  async carryOut(path: string, method: string, wanted: Wanted, here: Operation): Promise<unknown> {
    // What a member was told of its requests before is there.
    if (path === '/journal') await this.#askAll({ type: 'flush' })
    const answer = await here(wanted)
    if (method !== 'GET') await this.#announce()
    return answer
  }

  async follow(): Promise<() => void> {
    return () => {}
  }

  clocks(): TimedNode[] {
    return [...this.#members.keys()].map((name) => ({ name, address: name }))
  }

  async moveClock(name: string, { movedMs }: Move): Promise<number | undefined> {
    const answer = await this.#parts.peers.ask(name, { type: 'move', movedMs } satisfies FromHolder, patienceMs)
    return (answer as number | null) ?? undefined
  }

  #answer(question: FromMember, peer: string): unknown {
    const member = this.#members.get(peer)
    if (question.type === 'hello') return this.#welcome(peer, question.movedMs)
    if (!member) return undefined
    if (question.type === 'arrive') {
      const { effect, leave } = arrive(this.#parts, question.request)
      if (leave) member.open.set(question.key, leave)
      return { effect }
    }
    if (question.type === 'leave') {
      member.open.get(question.key)?.(question.end)
      member.open.delete(question.key)
    } else if (question.type === 'follow') this.#follow(member, peer, question.isOn)
    else return this.#operation(question)
  }

  /** A holder that was started again has lost the moved time, which its members have kept. */
  async #welcome(peer: string, movedMs: number): Promise<State> {
    this.#members.set(peer, { open: new Map() })
    const { clock } = this.#parts
    if (clock && movedMs > clock.movedMs) await clock.advance(movedMs - clock.movedMs)
    return this.#state()
  }

  #follow(member: Member, peer: string, isOn: boolean): void {
    const { journal, peers } = this.#parts
    member.follow?.()
    member.follow = isOn
      ? journal.listen((entry) => void peers.ask(peer, { type: 'entry', entry } satisfies FromHolder).catch(() => {}))
      : undefined
  }

  async #operation({ path, method, query, params, body }: FromMember & { type: 'operation' }): Promise<unknown> {
    const here = this.#parts.operations()[path]![method]!
    const wanted: Wanted = {
      query: new URLSearchParams(query),
      params,
      body: async () => (body ?? {}) as Record<string, unknown>,
      signal: new AbortController().signal,
    }
    return this.carryOut(path, method, wanted, here)
  }

  #state(): State {
    const { journal, faults, clock } = this.#parts
    return { hasFaults: faults.size > 0, isOpen: journal.isOpen, movedMs: clock?.movedMs ?? 0 }
  }

  async #announce(): Promise<void> {
    await this.#askAll({ type: 'state', ...this.#state() })
  }

  /** A member that does not answer is told again when it comes back. */
  async #askAll(question: FromHolder): Promise<void> {
    const { peers } = this.#parts
    await Promise.allSettled([...this.#members.keys()].map((peer) => peers.ask(peer, question, patienceMs)))
  }
}

class MemberInstruments implements SharedInstruments {
  readonly #parts: Parts
  #state: State = { hasFaults: false, isOpen: false, movedMs: 0 }
  #lastKey = 0
  #followers = 0

  constructor(parts: Parts) {
    this.#parts = parts
    const handlers: PeerHandlers = {
      answer: (question) => this.#answer(question as FromHolder),
      joined: () => void this.#join().catch((error: unknown) => this.#failed(error)),
      // The instruments of a holder end with it.
      left: () => {
        this.#state = { ...this.#state, hasFaults: false, isOpen: false }
      },
    }
    parts.peers.serve(handlers)
  }

  get isActive(): boolean {
    return this.#state.hasFaults || this.#state.isOpen
  }

  async arrive(request: ArrivedRequest): Promise<Arrival> {
    const key = ++this.#lastKey
    const { hasFaults } = this.#state
    const asked = this.#ask({ type: 'arrive', request, key }).catch((error: unknown) => this.#failed(error))
    // Only a fault has the request wait.
    const arrival = hasFaults ? ((await asked) as Arrival | undefined) : undefined
    return {
      effect: arrival?.effect,
      leave: (end) => void this.#ask({ type: 'leave', key, end }).catch(() => {}),
    }
  }

  async carryOut(path: string, method: string, { query, params, body }: Wanted): Promise<unknown> {
    const hasBody = method === 'PUT' || (method === 'POST' && path !== '/reset')
    const given = hasBody ? { body: await body() } : {}
    const question: FromMember = { type: 'operation', path, method, query: String(query), params, ...given }
    return this.#ask(question, operationMs)
  }

  async follow(): Promise<() => void> {
    if (++this.#followers === 1) await this.#ask({ type: 'follow', isOn: true })
    return () => {
      if (--this.#followers === 0) void this.#ask({ type: 'follow', isOn: false }).catch(() => {})
    }
  }

  clocks(): TimedNode[] {
    return []
  }

  async moveClock(): Promise<undefined> {}

  async #join(): Promise<void> {
    await this.#take((await this.#ask({ type: 'hello', movedMs: this.#parts.clock?.movedMs ?? 0 })) as State)
    if (this.#followers > 0) await this.#ask({ type: 'follow', isOn: true })
  }

  #answer(question: FromHolder): unknown {
    if (question.type === 'state') return this.#take(question)
    if (question.type === 'entry') this.#parts.journal.relay(question.entry)
    else if (question.type === 'move') return this.#move(question.movedMs)
    return undefined
  }

  async #take({ hasFaults, isOpen, movedMs }: State): Promise<void> {
    this.#state = { hasFaults, isOpen, movedMs }
    await this.#move(movedMs)
  }

  /** Resolves to the milliseconds until this process has more to do; null: it has nothing to do. */
  async #move(movedMs: number): Promise<number | null> {
    const { clock } = this.#parts
    if (!clock) return null
    if (movedMs > clock.movedMs) await clock.advance(movedMs - clock.movedMs)
    else await settle()
    const next = clock.nextDeadline()
    return next === undefined ? null : next - clock.monotonic()
  }

  #ask(question: FromMember, timeoutMs?: number): Promise<unknown> {
    return this.#parts.peers.ask(holder, question, timeoutMs)
  }

  #failed(error: unknown): undefined {
    this.#parts.log.debug({ err: error }, 'the server that holds the store does not know of a request')
  }
}
