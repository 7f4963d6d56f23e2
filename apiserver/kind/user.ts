/** An authenticated user, or the anonymous one. */
export interface User {
  name: string
  uid?: string
  groups: readonly string[]
  extra?: Readonly<Record<string, readonly string[]>>
}
