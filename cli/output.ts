import { option } from '../shared/config/option.ts'
import { oneOf } from '../shared/config/option-types.ts'

/** Of every command that prints data. */
export const outputOption = option(oneOf('text', 'json'), { default: 'text', short: 'o', help: 'How to print' })

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`)
}

/** Lines in columns, the first of them the head. */
export function printTable(lines: readonly (readonly string[])[]): void {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  for (const line of lines) {
    const cells = line.map((cell, column) => cell.padEnd(widths[column] ?? 0))
    process.stdout.write(`${cells.join('   ').trimEnd()}\n`)
  }
}
