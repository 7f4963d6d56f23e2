import { Gathered } from './gathered.ts'
import { maxAnswerBytes } from './limits.ts'

const newline = 0x0a

/**
 * Splits a stream of UTF-8 chunks into lines; keeps at most one unfinished line, and throws when that becomes too long.
 * What follows the last newline is dropped: a torn line is no event.
 */
export async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const unfinished = new Gathered('a line', maxAnswerBytes)
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const isWhole = unfinished.length === 0
      if (!isWhole) unfinished.add(chunk.subarray(start, end))
      const line = isWhole ? chunk.toString('utf8', start, end) : unfinished.take().toString('utf8')
      start = end + 1
      if (line !== '') yield line
    }
    if (start < chunk.length) unfinished.add(chunk.subarray(start))
  }
}
