const row = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row), ''].join('\n')
export function code(text: string | undefined): string {
  if (!text) return ''
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``
}
