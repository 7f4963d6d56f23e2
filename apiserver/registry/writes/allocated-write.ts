import type { Allocation, ResourceDefinition, StrategyContext } from '../../kind/resource-definition.ts'
import { StorageUnavailableError } from '../../storage/storage.ts'

/**
 * Makes a write that has taken what servers share, and says what became of it. `write` resolves to undefined when
 * nothing was stored. Where that is not known, what was taken stays so, for a repair to find.
 */
export async function writeAllocated<Stored>(
  allocation: Allocation | undefined,
  write: () => Promise<Stored | undefined>,
): Promise<Stored | undefined> {
  if (!allocation) return write()
  let stored: Stored | undefined
  try {
    stored = await write()
  } catch (error) {
    if (!(error instanceof StorageUnavailableError)) await allocation.end(false)
    throw error
  }
  await allocation.end(stored !== undefined)
  return stored
}

/** Returns whether a strategy allocates in the name of the object, so that the name must be known before. */
export const allocatesByName = ({ strategy }: ResourceDefinition, { serviceAddresses }: StrategyContext): boolean =>
  strategy.afterDelete !== undefined && serviceAddresses?.shared !== undefined
