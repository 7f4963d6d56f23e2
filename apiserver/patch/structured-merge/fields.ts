/**
 * Sets of field paths, in the very form they have in `managedFields[].fieldsV1`, so that nothing is decoded or
 * encoded around them: a node without children is a member; one with children is a member if it holds ".".
 * Nodes are never changed once made and may be shared.
 */
export interface FieldsV1 {
  readonly [element: string]: FieldsV1
}

/** A member without children. */
export const leaf: FieldsV1 = Object.freeze({})
/** The set without members: only ever the whole set, never a node in it. */
export const noFields: FieldsV1 = leaf

export function isEmpty(fields: FieldsV1): boolean {
  for (const _ in fields) return false
  return true
}
export const isMember = (node: FieldsV1): boolean => '.' in node || isEmpty(node)

/** Members of either set. */
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

/** Members of `a` that are not in `b`. */
export function difference(a: FieldsV1, b: FieldsV1): FieldsV1 {
  if (isEmpty(a) || isEmpty(b)) return a
  return children(a, (element, node) => {
    const other = b[element]
    return other === undefined ? node : subtract(node, other)
  })
}
function subtract(a: FieldsV1, b: FieldsV1): FieldsV1 | undefined {
  const member = isMember(a) && !isMember(b)
  return node(member, isEmpty(a) ? leaf : difference(a, b))
}

/** Members of both. */
export function intersection(a: FieldsV1, b: FieldsV1): FieldsV1 {
  if (isEmpty(a) || isEmpty(b)) return noFields
  return children(a, (element, mine) => {
    const other = b[element]
    return other && node(isMember(mine) && isMember(other), intersection(mine, other))
  })
}

/** `a` without the members of `b` and everything below them. */
export function exclude(a: FieldsV1, b: FieldsV1): FieldsV1 {
  if (isEmpty(a) || isEmpty(b)) return a
  return children(a, (element, mine) => {
    const other = b[element]
    if (other === undefined) return mine
    return isMember(other) ? undefined : node(isMember(mine), exclude(mine, other))
  })
}

function children(
  of: FieldsV1,
  map: (element: string, node: FieldsV1) => FieldsV1 | undefined,
): Record<string, FieldsV1> {
  const out: Record<string, FieldsV1> = {}
  for (const element in of) {
    if (element === '.') continue
    const kept = map(element, of[element]!)
    if (kept) out[element] = kept
  }
  return out
}
/** A node of these children, undefined when there is nothing in it; "." of the children themselves is ignored. */
function node(member: boolean, below: FieldsV1): FieldsV1 | undefined {
  const { '.': _, ...elements } = below
  if (isEmpty(elements)) return member ? leaf : undefined
  return member ? { '.': leaf, ...elements } : elements
}

/** Every member as its path of elements: members of a level before what is below it, each sorted. */
export function* paths(fields: FieldsV1, prefix: string[] = []): Generator<string[]> {
  const elements = Object.keys(fields)
    .filter((element) => element !== '.')
    .sort()
  for (const element of elements) if (isMember(fields[element]!)) yield [...prefix, element]
  for (const element of elements) yield* paths(fields[element]!, [...prefix, element])
}

/** Keys in the order a real server writes them: "." first, then by element. */
export function sorted(fields: FieldsV1): FieldsV1 {
  const elements = Object.keys(fields)
  if (elements.length === 0) return leaf
  elements.sort()
  const out: Record<string, FieldsV1> = {}
  for (const element of elements) out[element] = sorted(fields[element]!)
  return out
}

/** A set of plain field paths, such as `spec` or `metadata.labels`. */
export function fieldPaths(...names: string[]): FieldsV1 {
  return names.reduce<FieldsV1>((set, name) => {
    const path = name.split('.').reduceRight<FieldsV1>((below, field) => ({ [`f:${field}`]: below }), leaf)
    return union(set, path)
  }, noFields)
}
