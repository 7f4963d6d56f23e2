/**
 * The requests of a case, as plain data. `{{name}}` stands for the name of its object in paths and bodies, other names in
 * braces for what an earlier step saved.
 */
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
  /** Names for later steps, each with the path of its value in the answer, e.g. `metadata.resourceVersion`. */
  save?: Readonly<Record<string, string>>
  /** The answer is a stream of events. The later steps are played beside it; it ends after them. */
  stream?: true
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
  /** The content type, and of a refusal what it says about the object. Absent in older recordings. */
  more?: unknown
}

/** A recorded case: its requests, each with the answer of a real server. */
export interface Recorded {
  name: string
  steps: (Step & { answer: Answer })[]
}
