export interface Answer {
  status: number
  statusText: string
  body: string
  /** The connection may be used again. */
  isKept: boolean
}

const headEnd = '\r\n\r\n'

/**
 * Reads one HTTP/1.1 answer out of pieces, which are only looked at: what is needed of them longer is copied.
 * `unread`: the body of a success is not wanted.
 */
export class AnswerReader {
  readonly #unread: boolean
  #head = ''
  #answer: Answer | undefined
  #pieces: Buffer[] = []
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

  /** The answer, when this was its last piece. Throws for what is no HTTP. */
  push(data: Buffer): Answer | undefined {
    let rest = data
    while (!this.#answer) {
      const before = this.#head.length
      this.#head += rest.toString('latin1')
      const end = this.#head.indexOf(headEnd, Math.max(0, before - headEnd.length))
      if (end === -1) return undefined
      rest = rest.subarray(end + headEnd.length - before)
      this.#readHead(this.#head.slice(0, end))
    }
    return this.#chunks === 'none' ? this.#pushBody(rest) : this.#pushChunks(rest)
  }

  /** The connection has ended. The answer, if that is how it ends. */
  end(): Answer | undefined {
    return this.#answer && this.#left === Number.POSITIVE_INFINITY ? this.#done() : undefined
  }

  #readHead(head: string): void {
    const [first = '', ...lines] = head.split('\r\n')
    const [, status, statusText = ''] = /^HTTP\/1\.[01] (\d{3}) ?(.*)$/.exec(first) ?? []
    if (!status) throw new Error(`the server does not speak HTTP/1.1: ${first.slice(0, 80)}`)
    this.#head = ''
    if (status.startsWith('1')) return // of no interest: the answer follows
    const fields = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
      }),
    )
    const hasBody = status !== '204' && status !== '304'
    const length = fields.get('content-length')
    if (fields.get('transfer-encoding')?.toLowerCase().includes('chunked')) this.#chunks = 'size'
    else this.#left = !hasBody ? 0 : length === undefined ? Number.POSITIVE_INFINITY : Number(length)
    const isKept = fields.get('connection')?.toLowerCase() !== 'close' && this.#left !== Number.POSITIVE_INFINITY
    this.#answer = { status: Number(status), statusText, body: '', isKept }
  }

  #pushBody(data: Buffer): Answer | undefined {
    // Most answers come in one piece.
    if (this.#pieces.length === 0 && data.length === this.#left && this.#isRead)
      return this.#done(data.toString('utf8'))
    this.#take(data)
    return this.#left === 0 ? this.#done() : undefined
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
      this.#line += data.toString('latin1', at, end === -1 ? undefined : end)
      if (end === -1) return undefined
      at = end + 1
      const line = this.#line.trimEnd()
      this.#line = ''
      if (this.#chunks === 'end') this.#chunks = 'size'
      else if (this.#chunks === 'trailer') {
        if (line === '') return this.#done()
      } else {
        this.#left = Number.parseInt(line, 16)
        if (Number.isNaN(this.#left)) throw new Error('the server sent a chunk without its size')
        this.#chunks = this.#left === 0 ? 'trailer' : 'data'
      }
    }
    return undefined
  }

  get #isRead(): boolean {
    return !this.#unread || this.#answer!.status >= 300
  }

  #take(data: Buffer): number {
    const taken = data.subarray(0, this.#left)
    if (this.#isRead) this.#pieces.push(Buffer.from(taken))
    this.#left -= taken.length
    return taken.length
  }

  #done(body = Buffer.concat(this.#pieces).toString('utf8')): Answer {
    return { ...this.#answer!, body }
  }
}
