import type { RecordLine } from '../../shared/record/format.ts'

/** The longest line that is read; a longer one is left out. */
const maxLine = 16 * 1024 * 1024

/** Lines of a record from pieces of text. A line that is not whole, or not JSON, is left out and counted. */
export class LineReader {
  bad = 0
  /** The last line is not whole: its writer, or a copy of it, was cut off. */
  isCut = false
  #rest = ''

  push(text: string): RecordLine[] {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    const parsed = lines.flatMap((line) => this.#parse(line))
    if (this.#rest.length > maxLine) {
      this.#rest = ''
      this.bad++
    }
    return parsed
  }

  /** What is left is a line only if it is whole. */
  end(): RecordLine[] {
    const parsed = this.#parse(this.#rest)
    this.isCut = this.#rest.trim() !== '' && parsed.length === 0
    this.#rest = ''
    return parsed
  }

  #parse(line: string): RecordLine[] {
    if (!line.trim()) return []
    try {
      const value: unknown = JSON.parse(line)
      if (typeof value === 'object' && value !== null && 'type' in value) return [value as RecordLine]
    } catch {}
    this.bad++
    return []
  }
}
