/** What one look at the machine found. */
export interface Finding {
  name: string
  /** `degraded`: it works, but not all of it; `bad`: a cluster cannot start. */
  state: 'good' | 'degraded' | 'bad'
  found: string
  /** How to get the rest. */
  remedy?: string
}
