import { option } from '../../shared/config/option.ts'
import { oneOf } from '../../shared/config/option-types.ts'

export type Output = 'text' | 'json' | 'yaml'

/** Defines the `--output` flag of every command that prints data. */
export const outputOption = option(oneOf('text', 'json', 'yaml'), { default: 'text', short: 'o', help: 'How to print' })

export async function printData(output: Exclude<Output, 'text'>, value: unknown): Promise<void> {
  const json = JSON.stringify(value, undefined, 2)
  if (output === 'json') process.stdout.write(`${json}\n`)
  else process.stdout.write((await import('js-yaml')).dump(JSON.parse(json), { lineWidth: -1 }))
}

/** Lines in columns, the first of them the head. */
export function printTable(lines: readonly (readonly string[])[]): void {
  for (const line of tableLines(lines)) process.stdout.write(`${line}\n`)
}

/** Returns a line of text for each row of cells, in columns of one width. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('   ')
      .trimEnd(),
  )
}
