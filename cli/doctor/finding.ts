/** Reports the result of one check of the machine. */
export interface Finding {
  name: string
  /** `good`: all works; `degraded`: part of it works; `bad`: a cluster cannot start. */
  state: 'good' | 'degraded' | 'bad'
  found: string
  /** Says what the user can do about it. */
  remedy?: string
}
