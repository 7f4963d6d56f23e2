import { type FieldsV1, leaf } from './fields.ts'

/** A node made before, and of what. */
interface Made {
  elements: readonly string[]
  children: readonly (FieldsV1 | undefined)[]
  node: FieldsV1
}

/**
 * The nodes made last for values of one type: objects that programs make come in few shapes, whose fields are the same
 * throughout, and then share their nodes, up to the root.
 */
export class SharedNodes {
  readonly #made: Made[] = []

  /** The node over these children; `elements` are in order. A child that is undefined has no place in it. */
  node(
    elements: readonly string[],
    children: readonly (FieldsV1 | undefined)[],
    { member }: { member: boolean },
  ): FieldsV1 {
    for (let index = 0; index < this.#made.length; index++) {
      const made = this.#made[index]!
      if (isSame(made.children, children) && isSame(made.elements, elements)) return made.node
    }
    const node = makeNode(elements, children, member)
    if (this.#made.length === maxShapes) this.#made.pop()
    this.#made.unshift({ elements, children, node })
    return node
  }
}

const maxShapes = 4

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false
  return true
}

function makeNode(elements: readonly string[], children: readonly (FieldsV1 | undefined)[], member: boolean): FieldsV1 {
  if (!children.some(Boolean)) return leaf
  const out: Record<string, FieldsV1> = member ? { '.': leaf } : {}
  for (let index = 0; index < elements.length; index++) {
    const child = children[index]
    if (child) out[elements[index]!] = child
  }
  return out
}
