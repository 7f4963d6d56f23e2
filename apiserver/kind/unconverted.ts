import type { StatusError } from '../../shared/api/status-error.ts'

/** In place of an object's form in another version, while no webhook could convert it. */
export class Unconverted {
  /** What a client is answered that wants it. */
  readonly why: StatusError
  constructor(why: StatusError) {
    this.why = why
  }
}
