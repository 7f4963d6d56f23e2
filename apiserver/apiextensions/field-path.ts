/**
 * Returns the steps of a path in dot notation (`.spec.replicas`, `.spec['a.b']`); undefined if the text is not such a
 * path.
 */
export function parseFieldPath(path: string): string[] | undefined {
  const steps: string[] = []
  let rest = path
  while (rest !== '') {
    const match = /^\.([A-Za-z_$@/-][\w$@/-]*)|^\['((?:[^'\\]|\\.)*)'\]/.exec(rest)
    if (match === null) return undefined
    steps.push(match[1] ?? (match[2] ?? '').replaceAll("\\'", "'"))
    rest = rest.slice(match[0].length)
  }
  return steps.length > 0 ? steps : undefined
}
