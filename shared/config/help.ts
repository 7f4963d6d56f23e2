import { flagOf, type Options } from './option.ts'

export interface Program {
  /** As typed, e.g. `kubestage up`. */
  name: string
  /** Says the program's purpose in one sentence. */
  purpose: string
  /** Says which arguments may stand beside the flags. */
  usage?: string
  options: Options
  /** Names of the flags that people need first. Default: all. */
  first?: readonly string[]
  /** Lines below the flags. */
  notes?: readonly string[]
}

export function helpText({ name, purpose, usage, options, first = Object.keys(options), notes = [] }: Program): string {
  const rows = Object.entries(options).map(([key, { type, default: value, help, short }]) => ({
    isFirst: first.includes(key),
    flag: [flagOf(key) + (short ? `, -${short}` : ''), type.placeholder].join(' ').trim(),
    help: help + shownDefault(type.show?.(value)),
  }))
  const width = Math.max(0, ...rows.map(({ flag }) => flag.length))
  const section = (title: string, has: (row: (typeof rows)[number]) => boolean): string[] => {
    const lines = rows.filter(has).map(({ flag, help }) => `  ${flag.padEnd(width)}  ${help}`)
    return lines.length > 0 ? [title, ...lines, ''] : []
  }
  return [
    `${purpose}\n`,
    `Usage: ${[name, usage, ...(rows.length ? ['[flags]'] : [])].filter(Boolean).join(' ')}\n`,
    ...section('Flags:', (row) => row.isFirst),
    ...section('More flags:', (row) => !row.isFirst),
    ...notes,
    '',
  ].join('\n')
}

function shownDefault(text: string | undefined): string {
  return text === undefined ? '' : ` (default ${text})`
}
