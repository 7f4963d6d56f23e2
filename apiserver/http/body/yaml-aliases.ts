import { BodyValues } from '../../validation/body-values.ts'

/** Limits how much of a document may be repetition, as Go's YAML reader does: little of a large one. */
const alwaysFine = 400_000
const largestShare = 0.99

/**
 * Says why a document with aliases cannot be read: it contains itself, or unfolds into something far larger. Returns
 * undefined for a document that can be read. Throws a StatusError (413) for a document that unfolds into more than
 * `maxValues` values.
 */
export function aliasProblem(value: unknown, text: string, maxValues: number): string | undefined {
  const sizes = new Map<object, number>()
  let isCircular = false
  const sizeOf = (node: unknown): number => {
    if (node === null || typeof node !== 'object') return 1
    const known = sizes.get(node)
    if (known !== undefined) {
      if (known === 0) isCircular = true
      return known
    }
    sizes.set(node, 0)
    let size = 1
    for (const child of Object.values(node)) size += sizeOf(child)
    sizes.set(node, size)
    return size
  }
  const unfolded = sizeOf(value)
  if (isCircular) return `anchor '${/&([^\s,[\]{}]+)/.exec(text)?.[1]}' value contains itself`
  if (unfolded <= alwaysFine) {
    new BodyValues(maxValues).add(unfolded)
    return undefined
  }
  const written = [...sizes.keys()].reduce((sum, node) => sum + Object.keys(node).length, 1)
  if (written / unfolded < 1 - largestShare) return 'document contains excessive aliasing'
  new BodyValues(maxValues).add(unfolded)
  return undefined
}
