import { styleText } from 'node:util'
import type { Clock } from '../../shared/clock/clock.ts'

type Style = Parameters<typeof styleText>[0]

/** Tells a story on stdout, each line with the seconds since its chapter began. */
export interface Narrator {
  /** A heading; what follows is timed from here. */
  chapter(title: string): void
  /** Shows what a user would have typed. */
  typed(line: string): void
  /** Shows what was seen, and where. */
  seen(source: string, text: string): void
  /** Shows a remark beside the story. */
  aside(text: string): void
}

const sourceStyles: Record<string, Style> = { watch: 'cyan', events: 'gray' }

export function createNarrator(clock: Clock): Narrator {
  let chapterMs = clock.monotonic()
  let chapters = 0
  const write = (line: string): void => void process.stdout.write(`${line}\n`)
  return {
    chapter(title) {
      chapterMs = clock.monotonic()
      write(`\n${styleText('bold', `${++chapters}. ${title}`)}`)
    },
    typed: (line) => write(`   ${styleText('green', `$ ${line}`)}`),
    seen(source, text) {
      const seconds = ((clock.monotonic() - chapterMs) / 1000).toFixed(1).padStart(5)
      write(`${seconds} s  ${styleText(sourceStyles[source] ?? 'yellow', source.padEnd(8))} ${text}`)
    },
    aside: (text) => write(`   ${text}`),
  }
}
