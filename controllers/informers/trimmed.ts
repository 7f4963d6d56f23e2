/**
 * Picks some fields of a type. `Unread` is one of the remaining fields: it may have any type, so that a whole object
 * can be used as its part, but the part cannot be used as the whole.
 */
export type Trimmed<Whole, Kept extends keyof Whole, Unread extends Exclude<keyof Whole, Kept>> = Pick<Whole, Kept> & {
  [field in Unread]?: unknown
}
