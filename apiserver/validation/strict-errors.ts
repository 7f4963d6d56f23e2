/** A real server's decoder keeps as many (sigs.k8s.io/json). */
const mostErrors = 100
/** Bounds all texts together: each may name a path as long as the body. */
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

/** Warns of the errors of a strict reader: once for each line of a YAML reader's. */
export function warnOf(errors: readonly string[], warn: (text: string) => void): void {
  for (const error of errors) {
    if (!yamlPrefix.test(error)) warn(error)
    else for (const line of error.replace(yamlPrefix, '').split('\n')) warn(line.trim())
  }
}
