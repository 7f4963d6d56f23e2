/** Returns an equal text that does not keep the whole in memory that it is a part of: a slice would. */
export const copyOf = (slice: string): string => ` ${slice}`.slice(1)
