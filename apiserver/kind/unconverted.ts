import type { StatusError } from '../../shared/api/status/status-error.ts'

/** In place of an object's form in another version, while no webhook could convert it. */
export class Unconverted {
  /** Holds the error for clients that ask for the object. */
  readonly why: StatusError
  /** No webhook was asked yet: another server wrote the object. */
  readonly isUnasked: boolean

  constructor(why: StatusError, isUnasked = false) {
    this.why = why
    this.isUnasked = isUnasked
  }
}
