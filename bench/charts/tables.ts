/** A table of Markdown: texts of its cells. */
export interface MarkdownTable {
  headings: string[]
  rows: string[][]
}

/** What stands between `<!-- part: begin -->` and its end; empty where the document has no such part. */
export function sectionOf(document: string, part: string): string {
  const [before, after] = [`<!-- ${part}: begin -->`, `<!-- ${part}: end -->`]
  const from = document.indexOf(before)
  const to = document.indexOf(after, from)
  return from < 0 || to < 0 ? '' : document.slice(from + before.length, to)
}

/** The tables of a text, in order. A line of dashes follows the headings. */
export function tablesOf(text: string): MarkdownTable[] {
  const tables: MarkdownTable[] = []
  let lines: string[][] = []
  for (const line of [...text.split('\n'), '']) {
    if (line.startsWith('|')) {
      lines.push(cellsOf(line))
      continue
    }
    const [headings, , ...rows] = lines
    if (headings && rows.length > 0) tables.push({ headings, rows })
    lines = []
  }
  return tables
}

const cellsOf = (line: string): string[] =>
  line
    .trim()
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim())

/** As the bench writes figures: `25,353`. Undefined for an empty cell and for words. */
export function figureOf(cell: string): number | undefined {
  return /^-?[\d,]+(\.\d+)?$/.test(cell) ? Number(cell.replaceAll(',', '')) : undefined
}
