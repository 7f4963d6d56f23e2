/** Fields whose owners are kept: for an object of as many, a real server's store has no room either. */
export const maxManagedFields = 50_000

/** The fields of an object are too many for their owners to be kept. */
export class TooManyFields extends Error {}

/** Counts for the set that is being made, which nothing interrupts. */
let left = 0

/** A set is about to be made. */
export function beginCount(): void {
  left = maxManagedFields
}

/**
 * Counts fields before they are added to the set. Throws {@link TooManyFields} when the set would have more than
 * {@link maxManagedFields}.
 */
export function countFields(fields: number): void {
  left -= fields
  if (left < 0) throw new TooManyFields()
}
