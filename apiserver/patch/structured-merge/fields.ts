import { isPathElement } from './path-element.ts'

/**
 * Sets of field paths, in the very form they have in `managedFields[].fieldsV1`, so that nothing is decoded or
 * encoded around them: a node without children is a member; one with children is a member if it holds ".".
 * Nodes are never changed once made and may be shared.
 */
export interface FieldsV1 {
  readonly [element: string]: FieldsV1
}

/** A leaf is a member without children. */
export const leaf: FieldsV1 = Object.freeze({})
/** Holds no members. It is only ever a whole set, never a node in a set. */
export const noFields: FieldsV1 = leaf

export function isEmpty(fields: FieldsV1): boolean {
  for (const _ in fields) return false
  return true
}
export const isMember = (node: FieldsV1): boolean => '.' in node || isEmpty(node)

/**
 * Returns whether a value from a client is a set of fields: each node is an object, and each key can be read as a path
 * element.
 */
export function isFields(value: unknown): value is FieldsV1 {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.entries(value).every(([element, node]) => (element === '.' || isPathElement(element)) && isFields(node))
}

/** Returns the members of either set. */
export function union(a: FieldsV1, b: FieldsV1): FieldsV1 {
  if (a === b || isEmpty(b)) return a
  if (isEmpty(a)) return b
  return unionNodes(a, b)
}
function unionNodes(a: FieldsV1, b: FieldsV1): FieldsV1 {
  const out: Record<string, FieldsV1> = { ...a }
  for (const element in b) {
    const mine = a[element]
    const theirs = b[element]!
    out[element] = mine === undefined || mine === theirs ? theirs : unionChild(mine, theirs)
  }
  return out
}
function unionChild(a: FieldsV1, b: FieldsV1): FieldsV1 {
  if (isEmpty(a)) return isEmpty(b) || '.' in b ? b : { '.': leaf, ...b }
  if (isEmpty(b)) return '.' in a ? a : { '.': leaf, ...a }
  return unionNodes(a, b)
}

/** Members of any of the sets: halves are joined, so that no field is copied more often than the sets can be halved. */
export function unionAll(sets: readonly FieldsV1[]): FieldsV1 {
  if (sets.length <= 1) return sets[0] ?? noFields
  const half = sets.length >> 1
  return union(unionAll(sets.slice(0, half)), unionAll(sets.slice(half)))
}

/** Members of `a` that are not in `b`; costs what `a` holds. */
export const difference = (a: FieldsV1, b: FieldsV1): FieldsV1 =>
  b === noFields ? a : (rebuild(a, false, (element, node) => subtract(node, b[element])) ?? noFields)

const subtract = (a: FieldsV1, b: FieldsV1 | undefined): FieldsV1 | undefined =>
  b === undefined ? a : rebuild(a, isMember(a) && !isMember(b), (element, node) => subtract(node, b[element]))

/** Members of both; costs what `a` holds. */
export const intersection = (a: FieldsV1, b: FieldsV1): FieldsV1 =>
  isEmpty(a) ? noFields : (rebuild(a, false, (element, node) => common(node, b[element])) ?? noFields)

const common = (a: FieldsV1, b: FieldsV1 | undefined): FieldsV1 | undefined =>
  b && rebuild(a, isMember(a) && isMember(b), (element, node) => common(node, b[element]))

/** `a` without the members of `b` and everything below them. */
export const exclude = (a: FieldsV1, b: FieldsV1): FieldsV1 =>
  isEmpty(b) ? a : (rebuild(a, false, (element, node) => cut(node, b[element])) ?? noFields)

function cut(a: FieldsV1, b: FieldsV1 | undefined): FieldsV1 | undefined {
  if (b === undefined) return a
  return isMember(b) ? undefined : rebuild(a, isMember(a), (element, node) => cut(node, b[element]))
}

/**
 * The node as a member or not, with its children mapped; itself when nothing changes, undefined when nothing is left.
 */
function rebuild(
  a: FieldsV1,
  member: boolean,
  map: (element: string, node: FieldsV1) => FieldsV1 | undefined,
): FieldsV1 | undefined {
  const out: Record<string, FieldsV1> = {}
  let left = 0
  let same = true
  for (const element in a) {
    if (element === '.') continue
    const kept = map(element, a[element]!)
    if (kept !== a[element]) same = false
    if (kept === undefined) continue
    if (left++ === 0 && member) out['.'] = leaf
    out[element] = kept
  }
  if (left === 0) return member ? leaf : undefined
  if (same && member === '.' in a) return a
  return out
}

/** Every member as its path of elements: members of a level before what is below it, each sorted. */
export function* paths(fields: FieldsV1, prefix: string[] = []): Generator<string[]> {
  const elements = Object.keys(fields)
    .filter((element) => element !== '.')
    .sort()
  for (const element of elements) if (isMember(fields[element]!)) yield [...prefix, element]
  for (const element of elements) yield* paths(fields[element]!, [...prefix, element])
}

/** Keys in the order a real server writes them: "." first, then by element. Nodes that are in order stay themselves. */
export function sorted(fields: FieldsV1): FieldsV1 {
  let before = ''
  let inOrder = true
  let changed: Record<string, FieldsV1> | undefined
  for (const element in fields) {
    if (element < before) inOrder = false
    before = element
    const node = fields[element]!
    const kept = node === leaf ? node : sorted(node)
    if (kept === node) continue
    changed ??= { ...fields }
    changed[element] = kept
  }
  if (inOrder) return changed ?? fields
  const nodes = changed ?? fields
  const out: Record<string, FieldsV1> = {}
  for (const element of Object.keys(nodes).sort()) out[element] = nodes[element]!
  return out
}

/** A set of plain field paths, such as `spec` or `metadata.labels`. */
export function fieldPaths(...names: string[]): FieldsV1 {
  return names.reduce<FieldsV1>((set, name) => {
    const path = name.split('.').reduceRight<FieldsV1>((below, field) => ({ [`f:${field}`]: below }), leaf)
    return union(set, path)
  }, noFields)
}
