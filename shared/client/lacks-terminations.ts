import { StatusError } from '../api/status-error.ts'

/**
 * Whether an API server refused a record because it has no terminations: it is not Kubestage's. Where RBAC asks first,
 * an API that does not exist is a forbidden one. A namespace that is missing has a name.
 */
export function lacksTerminations(error: unknown): error is StatusError {
  if (!(error instanceof StatusError)) return false
  if (error.code === 404) return !error.status.details?.name
  return error.code === 403 && error.message.includes('cannot create resource "terminations"')
}
