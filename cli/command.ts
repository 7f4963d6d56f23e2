import type { Options } from '../shared/config/option.ts'
import type { Resolved } from '../shared/config/resolve.ts'

/** One word after `kubestage`. Modules of commands import little: what is heavy is loaded by `run`. */
export interface Command<Table extends Options = Options> {
  /** One sentence, for `--help`. */
  purpose: string
  /** What may stand beside the flags, for `--help`; without it nothing may. */
  usage?: string
  options: Table
  /** Names of the flags that `--help` shows first; the others follow as more flags. */
  first?: readonly string[]
  notes?: readonly string[]
  /** kubestage.yaml is about other programs: only a file that --config names is read. */
  ownFile?: true
  /** Words that may stand beside the flags after those that are typed, for completion in a shell. */
  complete?(typed: Resolved<Table>): Promise<string[]>
  /** Resolves to the exit code. */
  run(resolved: Resolved<Table>): Promise<number>
}

/** Keeps the types of the options for `run`. */
export function command<const Table extends Options>(definition: Command<Table>): Command {
  return definition
}
