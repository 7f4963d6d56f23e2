import { StringDecoder } from 'node:string_decoder'

/** Splits a stream of UTF-8 chunks into lines; keeps at most one unfinished line. What follows the last newline is dropped: a torn line is no event. */
export async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  let unfinished: string[] = []
  for await (const chunk of chunks) {
    const text = decoder.write(chunk)
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const rest = text.slice(start, end)
      const line = unfinished.length === 0 ? rest : unfinished.join('') + rest
      unfinished = []
      start = end + 1
      if (line !== '') yield line
    }
    if (start < text.length) unfinished.push(text.slice(start))
  }
}
