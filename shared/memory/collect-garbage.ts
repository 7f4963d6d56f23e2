import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Garbage that is collected on demand, and how thoroughly (V8's `gc`, with --expose-gc). */
type Collect = (options: { type: 'major'; execution: 'async'; flavor: 'last-resort' }) => Promise<void>

let collect: Collect | undefined

/**
 * Runs one thorough collection, which returns half-empty pages and unused code to the machine. It takes some tens of
 * milliseconds.
 */
export async function collectGarbage(): Promise<void> {
  if (!collect) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as Collect
  }
  await collect({ type: 'major', execution: 'async', flavor: 'last-resort' })
}
