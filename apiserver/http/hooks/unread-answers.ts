import type { Attributes } from '../../auth/types.ts'
import { isLongRunning } from '../attributes.ts'
import type { Answers } from '../limits/answers.ts'
import type { Step } from './step.ts'

/** The request waits while its client leaves too many earlier answers unread. */
export const unreadAnswers =
  (answers: Answers): Step =>
  (exchange) => {
    const { attributes, request, response } = exchange
    // A client that has left in the meantime sends no body, and no second close event.
    if (exchange.hasLeft()) return leave(exchange)
    if (isLongRunning(attributes) && attributes.verb !== 'watch') return undefined
    return answers
      .begin(request.socket, response, weightOf(attributes))
      ?.then((isAdmitted) => (isAdmitted ? undefined : leave(exchange)))
  }

function leave(exchange: Parameters<Step>[0]): true {
  exchange.served()
  return true
}

/** Lists weigh as much as upstream's work estimator gives them at the most. */
const weightOf = ({ verb }: Attributes): number => (verb === 'list' ? 10 : 1)
