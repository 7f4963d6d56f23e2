import { Gathered, tooLarge } from './gathered.ts'
import { maxAnswerBytes, maxHeadBytes } from './limits.ts'

export interface Answer {
  status: number
  statusText: string
  body: string
  /** The connection may be used again. */
  isKept: boolean
}

const headEnd = '\r\n\r\n'
/** Limits the line of a chunk's size with its extensions, and a line of a trailer. */
const maxLineBytes = 4 * 1024

/**
 * Reads one HTTP/1.1 answer out of pieces, which are only looked at: what is needed of them longer is copied.
 * `unread`: the body of a success is not wanted.
 */
export class AnswerReader {
  readonly #unread: boolean
  #head = ''
  #answer: Answer | undefined
  readonly #body = new Gathered("the server's answer", maxAnswerBytes)
  /** The number of bytes of heads and trailers that are still accepted. */
  #headBytesLeft = maxHeadBytes
  /** Bytes to come of the body, or of the chunk. Infinite: until the connection closes. */
  #left = 0
  #chunks: 'none' | 'size' | 'data' | 'end' | 'trailer' = 'none'
  #line = ''

  constructor(unread = false) {
    this.#unread = unread
  }

  /** True as soon as there is anything of an answer. */
  get hasBegun(): boolean {
    return this.#head !== '' || this.#answer !== undefined
  }

  /** The answer, when this was its last piece. Throws for what is no HTTP, and for what is too large. */
  push(data: Buffer): Answer | undefined {
    let rest = data
    while (!this.#answer) {
      const before = this.#head.length
      const most = this.#headBytesLeft - before
      this.#head += rest.toString('latin1', 0, most)
      const end = this.#head.indexOf(headEnd, Math.max(0, before - headEnd.length))
      if (end === -1 && rest.length < most) return undefined
      this.#countHead(end === -1 ? this.#headBytesLeft + 1 : end + headEnd.length)
      rest = rest.subarray(end + headEnd.length - before)
      this.#readHead(this.#head.slice(0, end))
    }
    return this.#chunks === 'none' ? this.#pushBody(rest) : this.#pushChunks(rest)
  }

  /** The connection has ended. The answer, if that is how it ends. */
  end(): Answer | undefined {
    return this.#answer && this.#left === Number.POSITIVE_INFINITY ? this.#done() : undefined
  }

  #countHead(bytes: number): void {
    this.#headBytesLeft -= bytes
    if (this.#headBytesLeft < 0) throw tooLarge("the head of the server's answer", maxHeadBytes)
  }

  #readHead(head: string): void {
    const [first = '', ...lines] = head.split('\r\n')
    const [, status, statusText = ''] = /^HTTP\/1\.[01] ([1-9]\d\d) ?(.*)$/.exec(first) ?? []
    if (!status) throw new Error(`the server does not speak HTTP/1.1: ${first.slice(0, 80)}`)
    this.#head = ''
    if (status === '101') throw new Error('the server switches to a protocol that was not asked for')
    if (status.startsWith('1')) return // of no interest: the answer follows
    const fields = fieldsOf(lines)
    const length = fields.get('content-length')
    const encoding = fields.get('transfer-encoding')?.toLowerCase()
    if (status === '204' || status === '304') this.#left = 0
    else if (encoding === 'chunked') this.#chunks = 'size'
    else if (encoding !== undefined) throw new Error(`the server sent an unknown transfer encoding: ${encoding}`)
    else this.#left = length === undefined ? Number.POSITIVE_INFINITY : lengthOf(length)
    const isKept = fields.get('connection')?.toLowerCase() !== 'close' && this.#left !== Number.POSITIVE_INFINITY
    this.#answer = { status: Number(status), statusText, body: '', isKept }
    const isTooLarge = this.#isRead && this.#left !== Number.POSITIVE_INFINITY && this.#left > maxAnswerBytes
    if (isTooLarge) throw tooLarge("the server's answer", maxAnswerBytes)
  }

  #pushBody(data: Buffer): Answer | undefined {
    // Most answers come in one piece.
    if (this.#body.length === 0 && data.length === this.#left && this.#isRead) return this.#done(data.toString('utf8'))
    const taken = this.#take(data)
    return this.#left === 0 ? this.#end(data.length - taken) : undefined
  }

  #pushChunks(data: Buffer): Answer | undefined {
    let at = 0
    while (at < data.length) {
      if (this.#chunks === 'data') {
        at += this.#take(data.subarray(at))
        if (this.#left === 0) this.#chunks = 'end'
        continue
      }
      const end = data.indexOf(0x0a, at)
      const line = this.#readLine(data, at, end)
      if (line === undefined) return undefined
      at = end + 1
      if (this.#chunks === 'end') this.#endChunk(line)
      else if (this.#chunks === 'size') this.#beginChunk(line)
      else if (line === '') return this.#end(data.length - at)
      else this.#countHead(line.length)
    }
    return undefined
  }

  /** A line that is complete, without its end. */
  #readLine(data: Buffer, from: number, end: number): string | undefined {
    const to = end === -1 ? data.length : end
    if (this.#line.length + to - from > maxLineBytes)
      throw tooLarge('a line between chunks of the answer', maxLineBytes)
    this.#line += data.toString('latin1', from, to)
    if (end === -1) return undefined
    const line = this.#line.trimEnd()
    this.#line = ''
    return line
  }

  #beginChunk(line: string): void {
    const [, size] = /^([\da-f]{1,12})[ \t]*(?:;|$)/i.exec(line) ?? []
    if (size === undefined) throw new Error('the server sent a chunk without its size')
    this.#left = Number.parseInt(size, 16)
    this.#chunks = this.#left === 0 ? 'trailer' : 'data'
  }

  #endChunk(line: string): void {
    if (line !== '') throw new Error('the server sent a chunk that is longer than its size')
    this.#chunks = 'size'
  }

  get #isRead(): boolean {
    return !this.#unread || this.#answer!.status >= 300
  }

  #take(data: Buffer): number {
    const taken = data.subarray(0, this.#left)
    if (this.#isRead) this.#body.add(taken)
    this.#left -= taken.length
    return taken.length
  }

  /** Ends the answer. If it is followed by bytes that belong to no answer, the connection is not used again. */
  #end(surplus: number): Answer {
    const answer = this.#done()
    return surplus === 0 ? answer : { ...answer, isKept: false }
  }

  #done(body = this.#body.take().toString('utf8')): Answer {
    return { ...this.#answer!, body }
  }
}

function fieldsOf(lines: string[]): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    if (colon < 1) throw new Error(`the server sent a header without a name: ${line.slice(0, 80)}`)
    const [name, value] = [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    if (name === 'content-length' && (fields.get(name) ?? value) !== value)
      throw new Error('the server sent two different lengths of one answer')
    fields.set(name, value)
  }
  return fields
}

function lengthOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`the server sent an invalid length: ${text.slice(0, 80)}`)
  return Number(text)
}
