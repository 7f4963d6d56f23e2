/** The requests of a case, as plain data. `{{name}}` stands for the name of its object in paths and bodies. */
export interface Step {
  method: string
  path: string
  /** Content type of the body. Default: JSON. */
  type?: string
  accept?: string
  body?: unknown
  /** Asked again until the answer has this status, e.g. of a resource that was defined by the step before. */
  until?: number
  /** The body letter by letter, where JSON.stringify cannot write it. */
  raw?: string
}

export interface Case {
  kind: string
  /** How the odd request is sent, e.g. `create` or `merge`. */
  operation: string
  /** What was changed, in words. */
  what: string
  steps: Step[]
}

/** What a server answered, without what differs between two servers. */
export interface Answer {
  status: number
  body: unknown
  warnings: string[]
}

/** A recorded case: its requests, each with the answer of a real server. */
export interface Recorded {
  name: string
  steps: (Step & { answer: Answer })[]
}
