import { isStatus } from './status/status-error.ts'

/** Returns whether nothing can be created in a namespace any more, so that a retry fails as well. */
export const isNamespaceGoing = (error: unknown): boolean =>
  isStatus(error, 'Forbidden') &&
  error.status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') === true
