import { isWholeQuantity } from '../../../shared/api/quantities/quantity.ts'

/**
 * Returns a warning for each amount that is a fraction of a byte. `names` are the resources that are measured in bytes.
 */
export const fractionWarnings = (
  amounts: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
  path: string,
): string[] =>
  names.flatMap((name) => {
    const quantity = amounts?.[name]
    if (quantity === undefined || isWholeQuantity(quantity)) return []
    return [`${path}[${name}]: fractional byte value ${JSON.stringify(quantity)} is invalid, must be an integer`]
  })
