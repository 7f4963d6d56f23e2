/** Completion indexes as a job's status writes them: `1,3-5,7`. */

/**
 * The indexes of a text that are below `limit`; what is malformed, or beyond it, is left out. Upstream:
 * parseIndexesFromString.
 */
export function parseIndexes(text: string | undefined, limit: number): Set<number> {
  const found = new Set<number>()
  for (const part of (text ?? '').split(',')) {
    const [first = '', last = first] = part.split('-')
    if (!/^\d+$/.test(first) || !/^\d+$/.test(last)) continue
    for (let index = Number(first); index <= Math.min(Number(last), limit - 1); index++) found.add(index)
  }
  return found
}

export function formatIndexes(indexes: ReadonlySet<number>): string {
  const runs: [first: number, last: number][] = []
  for (const index of [...indexes].sort((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run && run[1] === index - 1) run[1] = index
    else runs.push([index, index])
  }
  // Two neighbours are a list, three are a range, as upstream writes them.
  return runs
    .map(([first, last]) => (first === last ? `${first}` : `${first}${last - first === 1 ? ',' : '-'}${last}`))
    .join(',')
}
