import { badRequest } from '../../../shared/api/status/status-errors.ts'
import type { Query } from '../request-info.ts'

const units = /^([-+]?)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+$/

/** Throws a StatusError (400) if the request's own deadline is no duration as Go reads it. */
export function checkTimeout(query: Query): void {
  const text = query.get('timeout')
  if (text === null || text === '' || /^[-+]?0$/.test(text) || units.test(text)) return
  const shown = JSON.stringify(text)
  const why = /^[-+]?[\d.]+$/.test(text) ? `time: missing unit in duration ${shown}` : `time: invalid duration ${shown}`
  throw badRequest(`invalid timeout specified in the request URL - ${why}`)
}
