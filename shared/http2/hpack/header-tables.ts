/** RFC 7541, appendix A: the fields every client and server know by number, from 1. */
const staticFields = `
:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate
`

export interface HeaderField {
  readonly name: string
  readonly value: string
}

export const staticTable: readonly HeaderField[] = staticFields
  .trim()
  .split('\n')
  .map((line) => {
    const [name = '', ...value] = line.split(' ')
    return { name, value: value.join(' ') }
  })

/** The first number of each name, and of each field that has a value. */
export const staticNames: ReadonlyMap<string, number> = firstNumbers(({ name }) => name)

function firstNumbers(keyOf: (field: HeaderField) => string): Map<string, number> {
  const numbers = new Map<string, number>()
  for (const [index, field] of staticTable.entries()) {
    if (!numbers.has(keyOf(field))) numbers.set(keyOf(field), index + 1)
  }
  return numbers
}

/** Each field takes this many bytes of a table in addition to its text (RFC 7541, 4.1). */
export const fieldOverhead = 32
const sizeOf = ({ name, value }: HeaderField): number => name.length + value.length + fieldOverhead

/**
 * Fields that one side has told the other to remember: the newest has the lowest number, the oldest are forgotten
 * first.
 */
export class DynamicTable {
  #maxSize: number
  #size = 0
  /** Oldest first; the entries before `#start` are empty. */
  #fields: (HeaderField | undefined)[] = []
  #start = 0

  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  get(index: number): HeaderField | undefined {
    const at = this.#fields.length - 1 - index
    return at < this.#start ? undefined : this.#fields[at]
  }

  /** Adds a field. A field that is larger than the table empties the table, and is not added. */
  add(field: HeaderField): void {
    const size = sizeOf(field)
    this.#evict(this.#maxSize - size)
    if (size > this.#maxSize) return
    this.#fields.push(field)
    this.#size += size
  }

  resize(maxSize: number): void {
    this.#maxSize = maxSize
    this.#evict(maxSize)
  }

  /** Removes the oldest fields until the rest takes at most `size`. */
  #evict(size: number): void {
    while (this.#size > size && this.#start < this.#fields.length) {
      this.#size -= sizeOf(this.#fields[this.#start]!)
      this.#fields[this.#start++] = undefined
    }
    if (this.#start > 64 && this.#start * 2 > this.#fields.length) {
      this.#fields = this.#fields.slice(this.#start)
      this.#start = 0
    }
  }
}
