/** CRI's log format, read: `<time> <stream> <P|F> <content>`. */
export interface LogRecord {
  time: string
  content: Buffer
  /** The line goes on in the next record. */
  partial: boolean
}

const space = 0x20
const newline = 0x0a

/** Returns undefined for any other line, which is passed over. */
function parseLogLine(line: Buffer): LogRecord | undefined {
  const first = line.indexOf(space)
  const second = line.indexOf(space, first + 1)
  const third = line.indexOf(space, second + 1)
  if (first < 0 || second < 0 || third < 0) return undefined
  return {
    time: line.toString('latin1', 0, first),
    partial: line[second + 1] === 0x50,
    content: line.subarray(third + 1),
  }
}

/** Splits a growing stream of bytes into whole lines. */
export class LineCutter {
  #rest: Buffer = Buffer.alloc(0)

  cut(data: Buffer): Buffer[] {
    const lines: Buffer[] = []
    const all = this.#rest.length > 0 ? Buffer.concat([this.#rest, data]) : data
    let from = 0
    for (let end = all.indexOf(newline); end !== -1; end = all.indexOf(newline, from)) {
      lines.push(all.subarray(from, end))
      from = end + 1
    }
    this.#rest = Buffer.from(all.subarray(from))
    return lines
  }
}

/** Turns records into what a client reads, and says when its limit is reached. */
export class LogRenderer {
  readonly #options: { timestamps: boolean; sinceMs?: number; limitBytes?: number }
  #left: number
  #continued = false

  constructor(options: { timestamps: boolean; sinceMs?: number; limitBytes?: number }) {
    this.#options = options
    this.#left = options.limitBytes ?? Number.POSITIVE_INFINITY
  }

  get full(): boolean {
    return this.#left <= 0
  }

  render(line: Buffer): Buffer | undefined {
    const record = parseLogLine(line)
    if (!record) return undefined
    const { sinceMs, timestamps } = this.#options
    if (sinceMs !== undefined && Date.parse(record.time) < sinceMs) return undefined
    const prefix = timestamps && !this.#continued ? `${record.time} ` : ''
    this.#continued = record.partial
    const whole = Buffer.concat([Buffer.from(prefix), record.content, Buffer.from(record.partial ? '' : '\n')])
    const shown = whole.subarray(0, Math.min(whole.length, this.#left))
    this.#left -= shown.length
    return shown
  }
}
