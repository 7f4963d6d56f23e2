import type { MapType, Type } from './schema.ts'
import { SharedNodes } from './shared-nodes.ts'

/** A plan says how the fields of a value with certain keys are visited: in the order of their elements. */
export interface KeyPlan {
  keys: string[]
  elements: string[]
  types: Type[]
  /** Holds the values of the fields in Go's zero value of the type. */
  zeros: unknown[]
  /** Nodes made of such values: all of them, and what is beyond the zero value. */
  whole: SharedNodes
  beyondZero: SharedNodes
}

interface Branch {
  next: Map<string, Branch>
  plan?: KeyPlan
}

/**
 * Per type, plans by the sequence of keys that values come with: few for objects that programs make, bounded for all.
 */
const roots = new WeakMap<MapType, { branch: Branch; size: number }>()
const maxBranches = 2000

export function planFor(type: MapType, value: object): KeyPlan {
  let root = roots.get(type)
  if (!root) {
    root = { branch: { next: new Map() }, size: 0 }
    roots.set(type, root)
  }
  let branch = root.branch
  for (const key in value) {
    let next = branch.next.get(key)
    if (!next) {
      if (root.size >= maxBranches) return makePlan(type, value)
      root.size++
      next = { next: new Map() }
      branch.next.set(key, next)
    }
    branch = next
  }
  branch.plan ??= makePlan(type, value)
  return branch.plan
}

function makePlan(type: MapType, value: object): KeyPlan {
  const fields = Object.keys(value).flatMap((key) => {
    const field = type.fields.get(key)
    const childType = field?.type ?? type.element
    return childType ? [{ key, element: field?.element ?? `f:${key}`, type: childType, zero: field?.zero }] : []
  })
  fields.sort((a, b) => (a.element < b.element ? -1 : 1))
  return {
    keys: fields.map(({ key }) => key),
    elements: fields.map(({ element }) => element),
    types: fields.map((field) => field.type),
    zeros: fields.map((field) => field.zero),
    whole: new SharedNodes(),
    beyondZero: new SharedNodes(),
  }
}
