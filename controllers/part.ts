/**
 * Some fields of a type. `Unread` is one of the others: it may have any type here, so that a whole object can stand for
 * its part, and the part does not pass for the whole.
 */
export type Part<Whole, Kept extends keyof Whole, Unread extends Exclude<keyof Whole, Kept>> = Pick<Whole, Kept> & {
  [field in Unread]?: unknown
}
