import { option } from '../../shared/config/option.ts'
import { oneOf } from '../../shared/config/option-types.ts'

export type Output = 'text' | 'json' | 'yaml'

/** Defines the `--output` flag of every command that prints data. */
export const outputOption = option(oneOf('text', 'json', 'yaml'), { default: 'text', short: 'o', help: 'How to print' })

/** For programs, and for people who like YAML. */
export async function printData(output: Exclude<Output, 'text'>, value: unknown): Promise<void> {
  const json = JSON.stringify(value, undefined, 2)
  if (output === 'json') process.stdout.write(`${json}\n`)
  else process.stdout.write((await import('js-yaml')).dump(JSON.parse(json), { lineWidth: -1 }))
}

/** Lines in columns, the first of them the head. */
export function printTable(lines: readonly (readonly string[])[]): void {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  for (const line of lines) {
    const cells = line.map((cell, column) => cell.padEnd(widths[column] ?? 0))
    process.stdout.write(`${cells.join('   ').trimEnd()}\n`)
  }
}
