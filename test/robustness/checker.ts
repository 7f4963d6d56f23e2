import { join } from 'node:path'
import { run } from '../harness/run.ts'
import type { History } from './history.ts'

const source = join(import.meta.dirname, 'checker')
/** The first build, with nothing in Go's cache. */
const buildTimeoutMs = 120_000
const checkTimeoutMs = 300_000

export interface Verdict {
  name: string
  result: 'Ok' | 'Illegal' | 'Unknown'
  operations: number
  keys: number
  violations: string[]
}

/** Builds the program that checks linearizability. Resolves to why it cannot be built here, if it cannot. */
export async function buildChecker(program: string): Promise<string | undefined> {
  const built = await run('go', ['build', '-o', program, '.'], { cwd: source, timeoutMs: buildTimeoutMs })
  if (!built) return 'Go is not installed'
  return built.code === 0 ? undefined : `the checker cannot be built here: ${built.output.slice(0, 2000)}`
}

/** Asks it of each object of these histories; draws those that are not linearizable in `folder`. */
export async function checkLinearizability(
  program: string,
  histories: readonly History[],
  folder?: string,
): Promise<Verdict[]> {
  const input = histories.map(({ namespace, operations }) => JSON.stringify({ name: namespace, operations })).join('\n')
  const result = await run(program, folder ? ['-html', folder] : [], { input, timeoutMs: checkTimeoutMs })
  if (result?.code !== 0) throw new Error(`the checker ended with ${result?.code}: ${result?.output}`)
  return result.output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Verdict)
}
