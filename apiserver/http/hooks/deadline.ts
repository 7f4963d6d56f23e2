import { badRequest } from '../../../shared/api/status/status-errors.ts'
import { booleanParameter, noQuery, type Query } from '../request-info.ts'
import type { Step } from './step.ts'

/** These subresources run as long as their client likes, as do watches. */
const longRunning = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

/** Refuses a deadline that is no duration. Throws a StatusError (400). */
export const deadline: Step = ({ info: { query, target, method } }) => {
  if (query === noQuery || !query.has('timeout')) return
  const isProxy = target?.resource === 'proxy' && target.namespace === undefined // the deprecated prefix /proxy/
  const isLong = target && (isProxy || target.watchPrefix || longRunning.has(target.subresource ?? ''))
  const isWatch = target && target.name === undefined && method === 'GET' && booleanParameter(query, 'watch')
  if (!isLong && !isWatch) checkTimeout(query)
}

const units = /^([-+]?)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+$/

/** Throws a StatusError (400) if the request's own deadline is no duration as Go reads it. */
function checkTimeout(query: Query): void {
  const text = query.get('timeout')
  if (text === null || text === '' || /^[-+]?0$/.test(text) || units.test(text)) return
  const shown = JSON.stringify(text)
  const why = /^[-+]?[\d.]+$/.test(text) ? `time: missing unit in duration ${shown}` : `time: invalid duration ${shown}`
  throw badRequest(`invalid timeout specified in the request URL - ${why}`)
}
