import type { RecordLine } from '../../shared/record/format.ts'

/** Bounds the length of a line; longer lines are left out. */
const maxLine = 16 * 1024 * 1024

/**
 * Parses the lines of a record from pieces of text. Incomplete lines, and lines that are not JSON, are left out and
 * counted.
 */
export class LineReader {
  bad = 0
  /** The last line is incomplete: its writer, or a copy of it, was interrupted. */
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

  /** Parses the rest, which is a line only if it is complete. */
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
