/** The patterns of a path, and of all paths below it. */
export const withAllBelow = (path: string): readonly string[] => [path, `${path}/*`]
