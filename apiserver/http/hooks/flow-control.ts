import type { StatusError } from '../../../shared/api/status/status-error.ts'
import { tooManyRequests } from '../../../shared/api/status/status-errors.ts'
import { largerHeap } from '../../../shared/memory/heap-use.ts'
import { changesNothing, isLongRunning } from '../attributes.ts'
import { sendText } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import type { FlowControl } from '../flow-control/flow-control.ts'
import type { Answers } from '../limits/answers.ts'
import type { ClientLimits } from '../limits/client-limits.ts'
import type { LimitName } from '../limits/limits.ts'
import type { Watchdog } from '../limits/watchdog.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import type { Step } from './step.ts'

export interface FlowControlOptions {
  flowControl: FlowControl
  watchdog: Watchdog
  reports: ClientLimits
  answers: Answers
  metrics: RequestMetrics
  monotonicMs(): number
}

/** Gives the request a seat, or tells the client to come back later. Long-running requests take none. */
export function flowControl({ flowControl, watchdog, reports, ...options }: FlowControlOptions): Step {
  return (exchange) => {
    const { attributes } = exchange
    if (attributes.resource && watchdog.sheds(attributes.verb)) throw heapIsFull()
    // A client may leave while a hook of a plugin keeps its request.
    if (exchange.reply.isObserved) exchange.onClose(() => exchange.hasBegun || exchange.served())
    if (isLongRunning(attributes)) {
      exchange.whenServed(() => options.answers.leave(exchange.response))
      return undefined
    }
    const seat = flowControl.admit(attributes)
    if (!(seat instanceof Promise)) return seated(exchange, seat)
    return seat.then((release) => seated(exchange, release))
  }

  function seated(exchange: Exchange, release: 'rejected' | (() => void) | undefined): boolean {
    if (release === 'rejected') return tooMany(exchange, reports)
    count(exchange, release, options)
    return false
  }
}

const heapIsFull = (): StatusError => {
  const why = `the heap of the API server is nearly full; start it with ${largerHeap()} for more objects`
  return tooManyRequests(why, 1, []).atLimit('heap' satisfies LimitName)
}

function tooMany(exchange: Exchange, reports: ClientLimits): true {
  reports.reached('maxRequestsInflight', exchange.request.socket, { user: exchange.asker.name })
  sendText(exchange, 429, 'Too many requests, please try again later.\n', { 'retry-after': '1' })
  exchange.served()
  return true
}

/** The request is under way until its handler is done; its seat is given back when the client has read the answer. */
function count(
  exchange: Exchange,
  release: (() => void) | undefined,
  { answers, metrics, monotonicMs }: Pick<FlowControlOptions, 'answers' | 'metrics' | 'monotonicMs'>,
): void {
  const { attributes, info, response, beganMs } = exchange
  const kind = changesNothing(attributes) ? 'readOnly' : 'mutating'
  metrics.inFlight[kind]++
  exchange.whenServed(() => {
    answers.end(response, release)
    metrics.inFlight[kind]--
    const seconds = (monotonicMs() - beganMs) / 1000
    const dryRun = info.query.has('dryRun')
    metrics.observe({ attributes, version: info.target?.version ?? '', code: response.statusCode, seconds, dryRun })
  })
}
