import { StatusError } from '../api/status/status-error.ts'

/**
 * Returns true if an API server refused a record because it has no terminations: it is not Kubestage's. Where RBAC
 * decides first, a missing API gives a 403. A 404 for a missing namespace names the namespace.
 */
export function lacksTerminations(error: unknown): error is StatusError {
  if (!(error instanceof StatusError)) return false
  if (error.code === 404) return !error.status.details?.name
  return error.code === 403 && error.message.includes('cannot create resource "terminations"')
}
