import { checkTimeout } from '../options/timeout.ts'
import { booleanParameter, noQuery } from '../request-info.ts'
import type { Step } from './step.ts'

/** These subresources run as long as their client likes, as do watches. */
const longRunning = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

/** Refuses a deadline that is no duration. Throws a StatusError (400). */
export const deadline: Step = ({ info: { query, target, method } }) => {
  if (query === noQuery || !query.has('timeout')) return
  const isProxy = target?.resource === 'proxy' && target.namespace === undefined // the deprecated prefix /proxy/
  const isLong = target && (isProxy || target.watchPrefix || longRunning.has(target.subresource ?? ''))
  const isWatch = target && method === 'GET' && booleanParameter(query, 'watch')
  if (!isLong && !isWatch) checkTimeout(query)
}
