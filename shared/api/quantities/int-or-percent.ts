/**
 * A count, or a percentage of `total`; shares of a whole one are rounded as `round` does. Upstream:
 * GetScaledValueFromIntOrPercent.
 */
export const scaledValue = (value: number | string, total: number, round: (value: number) => number): number =>
  typeof value === 'number' ? value : round((Number.parseInt(value, 10) * total) / 100)
