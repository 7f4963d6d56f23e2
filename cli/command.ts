import type { Options } from '../shared/config/option.ts'
import type { Resolved } from '../shared/config/resolve.ts'

/**
 * Describes a subcommand of `kubestage`. A command's module imports little, so that `--help` is fast: `run` loads what
 * is expensive.
 */
export interface Command<Table extends Options = Options> {
  /** Says the command's purpose in one sentence, for `--help`. */
  purpose: string
  /** Arguments beside the flags, for `--help`. Absent: the command takes no arguments. */
  usage?: string
  options: Table
  /** Names of the flags that `--help` shows first; the others follow as more flags. */
  first?: readonly string[]
  notes?: readonly string[]
  /** The command does not read kubestage.yaml, only a file that `--config` names. */
  ownFile?: true
  /** Arguments that may follow the typed words, for completion in a shell. */
  complete?(typed: Resolved<Table>): Promise<string[]>
  /** Resolves to the exit code. */
  run(resolved: Resolved<Table>): Promise<number>
}

/** Returns the definition; its only effect is that `run` gets the types of the options. */
export function command<const Table extends Options>(definition: Command<Table>): Command {
  return definition
}
