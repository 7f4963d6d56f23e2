import { own } from '../../shared/api/own.ts'

/** What is special about the endpoint of a subresource. A name means the same for every kind. */
export interface SubresourceTraits {
  /** A request may go on for as long as the client wants, so that it counts for no limit of requests under way. */
  longRunning?: boolean
  /** Its path goes on behind its name: the rest is the path of another server. */
  hasPath?: boolean
  /** The half that a write changes of an object that has a status; it keeps the other. Default: all but the status. */
  writes?: 'status' | 'both'
  /** The time of its writes is not in `managedFields`, as with a real server. */
  untimed?: boolean
}

const traits: Readonly<Record<string, SubresourceTraits>> = {
  approval: { writes: 'status' },
  attach: { longRunning: true },
  binding: { writes: 'both' },
  exec: { longRunning: true },
  log: { longRunning: true },
  portforward: { longRunning: true },
  proxy: { longRunning: true, hasPath: true },
  scale: { untimed: true },
  status: { writes: 'status' },
}

const ordinary: SubresourceTraits = {}

/** `subresource`: as in the path of a request, also one that no kind has; undefined for the object itself. */
export const traitsOf = (subresource: string | undefined): SubresourceTraits =>
  (subresource === undefined ? undefined : own(traits, subresource)) ?? ordinary
