import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from './cluster.ts'

/** A fenced block of a page. */
export interface Block {
  /** `docs/tour.md:17`: the line of its fence. */
  at: string
  /** The first word behind the fence. */
  language: string
  /** Words behind the language, which a reader never sees: `exit=1`, `terminal=cluster`, `not-run="…"`, `with="…"`. */
  marks: Record<string, string>
  text: string
}

/** A page of documentation, by its path from the repository's root. */
export interface Page {
  file: string
  blocks: Block[]
  /** What is not in a fenced block; the lines of blocks are empty here, so that line numbers stay. */
  prose: string[]
}

const FENCE = /^(`{3,}|~{3,}) *(\S*) *(.*)$/

export function readPage(file: string): Page {
  const page: Page = { file, blocks: [], prose: [] }
  let open: { fence: string; block: Block; lines: string[] } | undefined
  const lines = readFileSync(join(repository, file), 'utf8').split('\n')
  for (const [index, line] of lines.entries()) {
    page.prose.push('')
    if (open) {
      if (line.trimEnd() === open.fence) {
        page.blocks.push({ ...open.block, text: open.lines.join('\n') })
        open = undefined
      } else open.lines.push(line)
      continue
    }
    const [, fence, language = '', marks = ''] = FENCE.exec(line) ?? []
    if (fence === undefined) page.prose[index] = line
    else open = { fence, lines: [], block: { at: `${file}:${index + 1}`, language, marks: marksIn(marks), text: '' } }
  }
  if (open) throw new Error(`${open.block.at}: the block never ends`)
  return page
}

function marksIn(text: string): Record<string, string> {
  const found = text.matchAll(/([\w-]+)(?:=(?:"([^"]*)"|(\S+)))?/g)
  return Object.fromEntries([...found].map(([, name = '', quoted, plain]) => [name, quoted ?? plain ?? '']))
}
