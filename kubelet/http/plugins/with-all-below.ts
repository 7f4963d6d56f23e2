/** Returns the route patterns that match a path and all paths below it. */
export const withAllBelow = (path: string): readonly string[] => [path, `${path}/*`]
