import { isWholeQuantity } from '../../../shared/api/quantity.ts'

/** Of amounts that are counted in bytes, and are no whole number of them. */
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
