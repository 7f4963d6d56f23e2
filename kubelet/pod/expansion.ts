/**
 * Linux limits the arguments and variables of a program (execve(2)): all together to this size, each with its NUL to
 * `WORD_BYTES`.
 */
export const PROGRAM_BYTES = 2 * 1024 * 1024
export const WORD_BYTES = 128 * 1024

/** A program would be given more than Linux takes. */
export class TooLongError extends Error {}

type Lookup = (name: string) => string | undefined

/** Looks names up among an object's own properties. */
export const among =
  (values: Readonly<Record<string, string>>): Lookup =>
  (name) =>
    Object.hasOwn(values, name) ? values[name] : undefined

/**
 * Kubernetes' `$(NAME)`: replaced when `lookup` knows the name, left as it stands when not; `$$` is a plain dollar
 * sign. No shell: `$NAME` and `${NAME}` mean nothing here. Throws a {@link TooLongError} before the text outgrows a
 * program's word.
 */
export const expand = (text: string, lookup: Lookup): string => new Expander().expand(text, lookup)

/** Expands the words of one program. Throws a {@link TooLongError} before the values in them outgrow the program. */
export class Expander {
  #made = 0

  expand(text: string, lookup: Lookup): string {
    let grown = 0
    return replaceReferences(text, (found, name) => {
      if (name === undefined) return '$'
      const value = lookup(name)
      if (value === undefined) return found
      grown += value.length
      this.#made += value.length
      if (grown > WORD_BYTES) throw new TooLongError(`a word expands to more than ${WORD_BYTES} bytes`)
      if (this.#made > PROGRAM_BYTES) throw new TooLongError(`its words expand to more than ${PROGRAM_BYTES} bytes`)
      return value
    })
  }
}

const references = /\$\$|\$\(([^)]*)\)/g

/** Replaces each `$(NAME)`, and each `$$`, which has no name. */
export function replaceReferences(text: string, replace: (found: string, name?: string) => string): string {
  if (!text.includes('$')) return text
  // No name ends behind the last parenthesis: each search for an end there would read all that is left.
  const end = text.lastIndexOf(')') + 1
  return text.slice(0, end).replace(references, replace) + text.slice(end).replaceAll('$$', (found) => replace(found))
}
