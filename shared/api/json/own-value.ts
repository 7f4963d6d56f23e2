/**
 * Returns the value that a client's map has under a name. `constructor` and other names that every object inherits are
 * ordinary names here.
 */
export const ownValue = <T>(map: Readonly<Record<string, T>> | null | undefined, name: string): T | undefined =>
  map && Object.hasOwn(map, name) ? map[name] : undefined
