import { flagOf, type Options } from './option.ts'

export interface Program {
  /** As typed, e.g. `kubestage up`. */
  name: string
  /** One sentence. */
  purpose: string
  /** What may stand beside the flags. */
  usage?: string
  options: Options
  /** Lines below the flags. */
  notes?: readonly string[]
}

/** What `--help` prints. */
export function helpText({ name, purpose, usage, options, notes = [] }: Program): string {
  const rows = Object.entries(options).map(([key, { type, default: value, help, short }]) => ({
    flag: [flagOf(key) + (short ? `, -${short}` : ''), type.placeholder].join(' ').trim(),
    help: help + shownDefault(type.show?.(value)),
  }))
  const width = Math.max(0, ...rows.map(({ flag }) => flag.length))
  return [
    `${purpose}\n`,
    `Usage: ${[name, usage, ...(rows.length ? ['[flags]'] : [])].filter(Boolean).join(' ')}\n`,
    ...(rows.length ? ['Flags:', ...rows.map(({ flag, help }) => `  ${flag.padEnd(width)}  ${help}`), ''] : []),
    ...notes,
    '',
  ].join('\n')
}

function shownDefault(text: string | undefined): string {
  return text === undefined ? '' : ` (default ${text})`
}
