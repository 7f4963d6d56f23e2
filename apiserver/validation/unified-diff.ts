import { toJson } from '../../shared/api/json/exact-json.ts'

/**
 * Unified diffs as Go's difflib makes them (Ratcliff and Obershelp's matching, with its heuristics for popular lines),
 * since a refused pod update quotes one.
 */
interface Block {
  a: number
  b: number
  size: number
}
type Opcode = { tag: 'equal' | 'change'; a1: number; a2: number; b1: number; b2: number }

/** Comparisons of lines for a diff of any size, and for each line more: beyond, what is left counts as changed. */
const anyway = 1_000_000
const perLine = 20

/** From this many lines on, lines that make up more than a hundredth do not start a match. */
const POPULARITY_FROM = 200

function indexLines(b: string[]): Map<string, number[]> {
  const index = new Map<string, number[]>()
  for (const [at, line] of b.entries()) {
    const places = index.get(line)
    if (places) places.push(at)
    else index.set(line, [at])
  }
  if (b.length >= POPULARITY_FROM) {
    const limit = Math.floor(b.length / 100) + 1
    for (const [line, places] of index) if (places.length > limit) index.delete(line)
  }
  return index
}

interface Lines {
  a: string[]
  b: string[]
  /** Places of the lines of `b`. */
  index: Map<string, number[]>
  /** Comparisons that may still be made. */
  left: number
}

function longestMatch(lines: Lines, { a1, a2, b1, b2 }: Opcode): Block {
  const { a, b, index } = lines
  let best: Block = { a: a1, b: b1, size: 0 }
  let lengths = new Map<number, number>()
  for (let i = a1; i < a2; i++) {
    const next = new Map<number, number>()
    const places = index.get(a[i] ?? '') ?? []
    lines.left -= places.length + 1
    if (lines.left < 0) break
    for (const j of places) {
      if (j < b1) continue
      if (j >= b2) break
      const size = (lengths.get(j - 1) ?? 0) + 1
      next.set(j, size)
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size }
    }
    lengths = next
  }
  while (best.a > a1 && best.b > b1 && a[best.a - 1] === b[best.b - 1]) {
    best = { a: best.a - 1, b: best.b - 1, size: best.size + 1 }
  }
  while (best.a + best.size < a2 && best.b + best.size < b2 && a[best.a + best.size] === b[best.b + best.size])
    best.size++
  return best
}

function matchingBlocks(a: string[], b: string[]): Block[] {
  const lines: Lines = { a, b, index: indexLines(b), left: anyway + perLine * (a.length + b.length) }
  const blocks: Block[] = []
  const visit = (range: Opcode): void => {
    const match = longestMatch(lines, range)
    if (match.size === 0) return
    visit({ ...range, a2: match.a, b2: match.b })
    const last = blocks.at(-1)
    if (last && last.a + last.size === match.a && last.b + last.size === match.b) last.size += match.size
    else blocks.push(match)
    visit({ ...range, a1: match.a + match.size, b1: match.b + match.size })
  }
  visit({ tag: 'equal', a1: 0, a2: a.length, b1: 0, b2: b.length })
  return blocks
}

function opcodes(a: string[], b: string[]): Opcode[] {
  const result: Opcode[] = []
  let [i, j] = [0, 0]
  for (const { a: at, b: bt, size } of [...matchingBlocks(a, b), { a: a.length, b: b.length, size: 0 }]) {
    if (i < at || j < bt) result.push({ tag: 'change', a1: i, a2: at, b1: j, b2: bt })
    if (size > 0) result.push({ tag: 'equal', a1: at, a2: at + size, b1: bt, b2: bt + size })
    i = at + size
    j = bt + size
  }
  return result
}

/** Changes with up to `context` lines around them, near ones in one group. */
function groups(codes: Opcode[], context: number): Opcode[][] {
  const result: Opcode[][] = []
  let group: Opcode[] = []
  for (const [index, code] of codes.entries()) {
    if (code.tag === 'change') {
      group.push(code)
      continue
    }
    const isFirst = index === 0
    const isLast = index === codes.length - 1
    const size = code.a2 - code.a1
    const tail = { ...code, a2: Math.min(code.a2, code.a1 + context), b2: Math.min(code.b2, code.b1 + context) }
    const head = { ...code, a1: Math.max(code.a1, code.a2 - context), b1: Math.max(code.b1, code.b2 - context) }
    if (isFirst) group.push(head)
    else if (isLast) group.push(tail)
    else if (size > 2 * context) {
      result.push([...group, tail])
      group = [head]
    } else group.push(code)
  }
  if (group.some(({ tag }) => tag === 'change')) result.push(group)
  return result
}

const rangeOf = (start: number, stop: number): string => {
  const length = stop - start
  if (length === 1) return `${start + 1}`
  return `${length === 0 ? start : start + 1},${length}`
}

export function unifiedDiff(a: string[], b: string[], context = 3): string {
  let text = ''
  for (const group of groups(opcodes(a, b), context)) {
    const [first, last] = [group[0] as Opcode, group.at(-1) as Opcode]
    text += `@@ -${rangeOf(first.a1, last.a2)} +${rangeOf(first.b1, last.b2)} @@\n`
    for (const { tag, a1, a2, b1, b2 } of group) {
      if (tag === 'equal') for (const line of a.slice(a1, a2)) text += ` ${line}\n`
      else {
        for (const line of a.slice(a1, a2)) text += `-${line}\n`
        for (const line of b.slice(b1, b2)) text += `+${line}\n`
      }
    }
  }
  return text
}

/** Bounds the lines of both values together. More is no help to a reader, and would take seconds. */
const mostLines = 40_000

/** Upstream's diff of two values: of their JSON, indented by one blank. */
export function diffValues(before: unknown, after: unknown): string {
  const [a, b] = [before, after].map((value) => toJson(value, { indent: 1 }).split('\n')) as [string[], string[]]
  if (a.length + b.length > mostLines) return `the difference is not shown: ${a.length} and ${b.length} lines`
  return unifiedDiff(a, b)
}
