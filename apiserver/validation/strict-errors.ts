/** So many a real server's decoder keeps (sigs.k8s.io/json). */
const mostErrors = 100
/** Of all texts together: each may name a path as long as the body. */
const mostCharacters = 64 * 1024

/** The first of what a strict reader says about a body. */
export function firstErrors(errors: readonly string[]): string[] {
  const first: string[] = []
  let characters = 0
  for (const error of errors) {
    characters += error.length
    if (first.length === mostErrors || (first.length > 0 && characters > mostCharacters)) break
    first.push(error)
  }
  return first
}

const yamlPrefix = /^(?:error converting YAML to JSON: )?yaml: unmarshal errors:\n/

/** Returns the warnings that report an error of a strict reader: one for each line of a YAML reader's. */
export const warningsOf = (error: string): string[] =>
  yamlPrefix.test(error)
    ? error
        .replace(yamlPrefix, '')
        .split('\n')
        .map((line) => line.trim())
    : [error]
