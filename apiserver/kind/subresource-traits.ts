import { ownValue } from '../../shared/api/json/own-value.ts'

/**
 * Describes the endpoint of a subresource where it differs from others. A name means the same for every kind:
 * authentication, flow control and faults see a request before its kind is looked up. `subresourcesOf` says which kinds
 * have the subresource.
 */
export interface SubresourceTraits {
  /** A request may go on for as long as the client wants, so that it counts for no limit of requests under way. */
  longRunning?: boolean
  /** The request becomes a connection, which both sides write to. */
  takesConnection?: boolean
  /** If true, its path goes on behind its name: the rest is the path of another server. */
  hasPath?: boolean
  /** Lets it be read as text: names the type of its options, and the parameter that makes the text endless. */
  text?: { options: string; endless: string }
  /** A read shows the object, so that a fault can make it stale. */
  canBeStale?: boolean
  /** The half that a write changes of an object that has a status; it keeps the other. Default: all but the status. */
  writes?: 'status' | 'both'
  /** The half that no manager owns by a write through it, as the write does not change it. Default: the status. */
  unowned?: 'spec'
}

const traits: Readonly<Record<string, SubresourceTraits>> = {
  approval: { writes: 'status', unowned: 'spec' },
  attach: { longRunning: true, takesConnection: true },
  binding: { writes: 'both' },
  exec: { longRunning: true, takesConnection: true },
  log: { longRunning: true, text: { options: 'PodLogOptions', endless: 'follow' } },
  portforward: { longRunning: true, takesConnection: true },
  proxy: { longRunning: true, hasPath: true },
  status: { writes: 'status', unowned: 'spec', canBeStale: true },
}

const ordinary: SubresourceTraits = {}

/** `subresource`: as in the path of a request, also one that no kind has; undefined for the object itself. */
export const traitsOf = (subresource: string | undefined): SubresourceTraits =>
  (subresource === undefined ? undefined : ownValue(traits, subresource)) ?? ordinary
