/**
 * What a map that a client wrote has under a name: `constructor` and the like, which every object inherits, are names
 * as any other.
 */
export const own = <T>(map: Readonly<Record<string, T>> | null | undefined, name: string): T | undefined =>
  map && Object.hasOwn(map, name) ? map[name] : undefined
