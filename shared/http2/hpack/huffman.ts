/**
 * RFC 7541, appendix B: how many bits stand for each byte, and for the end of the string. The code is canonical, so
 * they say everything.
 */
const codeLengths = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
]
const endOfString = 256
/** At the end of the string at most this many bits may be left over, all ones. */
const maxPadding = 7

interface Branch {
  zero?: Branch | number
  one?: Branch | number
}

/** Codes of equal length follow each other in the order of their symbols. */
function buildTree(): Branch {
  const root: Branch = {}
  let code = 0
  let last = 0
  const symbols = [...codeLengths.keys()].sort((a, b) => codeLengths[a]! - codeLengths[b]!)
  for (const symbol of symbols) {
    const length = codeLengths[symbol]!
    code <<= length - last
    last = length
    insert(root, { symbol, code: code++, length })
  }
  return root
}

function insert(root: Branch, { symbol, code, length }: { symbol: number; code: number; length: number }): void {
  let branch = root
  for (let bit = length - 1; bit > 0; bit--) {
    const side = (code >> bit) & 1 ? 'one' : 'zero'
    branch[side] ??= {}
    branch = branch[side] as Branch
  }
  branch[code & 1 ? 'one' : 'zero'] = symbol
}

/**
 * Four bits lead from a branch to an entry: the next branch in bits 0-7, the byte they completed in bits 8-15, and
 * these flags.
 */
const completes = 1 << 16
const fails = 1 << 17

interface Tables {
  /** 16 steps for every branch; no code is shorter than five bits, so four complete at most one. */
  steps: Uint32Array
  /** Says for each branch if the string may end there. */
  accepts: Uint8Array
}

/** Built with the first string, which takes some milliseconds: many processes never see one. */
let tables: Tables | undefined

function buildTables(): Tables {
  const steps = new Uint32Array(256 * 16)
  const accepts = new Uint8Array(256)
  const root = buildTree()
  const branches: Branch[] = []
  const numbers = new Map<Branch, number>()
  const visit = (branch: Branch, depth: number, allOnes: boolean): void => {
    numbers.set(branch, branches.length)
    accepts[branches.length] = allOnes && depth <= maxPadding ? 1 : 0
    branches.push(branch)
    if (typeof branch.zero === 'object') visit(branch.zero, depth + 1, false)
    if (typeof branch.one === 'object') visit(branch.one, depth + 1, allOnes)
  }
  visit(root, 0, true)
  for (const [number, start] of branches.entries()) {
    for (let bits = 0; bits < 16; bits++) {
      let branch = start
      let completed = 0
      for (let bit = 3; bit >= 0; bit--) {
        const next = (bits >> bit) & 1 ? branch.one : branch.zero
        if (typeof next === 'object') {
          branch = next
        } else {
          completed |= next === endOfString || next === undefined ? fails : completes | (next << 8)
          branch = root
        }
      }
      steps[number * 16 + bits] = completed | numbers.get(branch)!
    }
  }
  return { steps, accepts }
}

const scratch: Buffer = Buffer.allocUnsafeSlow(4096)

/** The text (one character a byte) of a Huffman-coded string; undefined when it is not one. */
export function decodeHuffman(bytes: Buffer, start: number, end: number): string | undefined {
  tables ??= buildTables()
  const { steps, accepts } = tables
  // The shortest code has five bits.
  const longest = Math.ceil(((end - start) * 8) / 5)
  const out = longest <= scratch.length ? scratch : Buffer.allocUnsafe(longest)
  let length = 0
  let branch = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!
    const high = steps[branch * 16 + (byte >> 4)]!
    if (high & completes) out[length++] = (high >> 8) & 0xff
    const low = steps[(high & 0xff) * 16 + (byte & 15)]!
    if (low & completes) out[length++] = (low >> 8) & 0xff
    if ((high | low) & fails) return undefined
    branch = low & 0xff
  }
  return accepts[branch] ? out.toString('latin1', 0, length) : undefined
}
