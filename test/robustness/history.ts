export type Verb = 'create' | 'update' | 'merge' | 'apply' | 'delete' | 'get'

/** One request about one object, as its client saw it. Times are whole microseconds of one monotonic clock. */
export interface Operation {
  client: number
  verb: Verb
  key: string
  call: number
  return: number
  input: Input
  output: Output
}

export interface Input {
  /** Unique to this write. */
  value?: string
  /** Precondition of a write. */
  resourceVersion?: number
  uid?: string
  /** What a write makes of the finalizer; absent: it stays as it is. */
  finalizer?: boolean
}

export interface Output {
  /** The connection was lost, or the server could not say (5xx): a write may have happened, until the end of time. */
  isLost?: true
  status: number
  /** What the answer holds, unless it is a Status. */
  object?: Seen
}

/** What a client sees of an object. */
export interface Seen {
  uid: string
  resourceVersion: number
  value: string
  hasFinalizer: boolean
  isDeleting: boolean
}

/** One list of all objects of a namespace. */
export interface List {
  client: number
  server: string
  namespace: string
  call: number
  return: number
  resourceVersion: number
  items: Map<string, Seen>
}

export interface Event {
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  namespace: string
  key: string
  object: Seen
}

/**
 * What a watch that was told 410 does not know: events after `after` and up to `to`, where it listed all objects again.
 */
export interface Gap {
  after: number
  to: number
  /** The list: `namespace/name` → object. */
  state: ReadonlyMap<string, Seen>
}

/** What a watch has told. */
export interface Told {
  events: readonly Event[]
  gaps: readonly Gap[]
}

/** All that was seen between two moments at which no request was under way. */
export interface History {
  namespace: string
  operations: Operation[]
  lists: List[]
}
