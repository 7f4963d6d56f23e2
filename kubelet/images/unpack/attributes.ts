import type { extract, Header } from 'tar-stream'
import { BadImage, shown } from '../bad-image.ts'

/** Names an extended attribute of a file, and holds its bytes. */
export interface Attribute {
  name: string
  value: Buffer
}

const prefix = 'SCHILY.xattr.'
/** The kernel takes no more. */
const mostNameBytes = 255
const mostValueBytes = 65_536

/** Other names are those of the machine that made the image, or change what an overlay shows. */
const isKept = (name: string): boolean =>
  name === 'security.capability' || (name.startsWith('user.') && !name.startsWith('user.overlay.'))

/**
 * Reads the extended attributes of entries. The library makes text of them, so this keeps the bytes of its last PAX
 * header.
 */
export class PaxAttributes {
  #records: Buffer | undefined

  constructor(archive: ReturnType<typeof extract>) {
    const inner = archive as unknown as { _header: { type: string }; _decodeLongHeader(bytes: Buffer): void }
    const decode = inner._decodeLongHeader
    const keepAndDecode = (bytes: Buffer): void => {
      if (inner._header.type === 'pax-header') this.#records = bytes
      decode.call(archive, bytes)
    }
    Object.assign(archive, { _decodeLongHeader: keepAndDecode })
  }

  /** Returns those of the entry that has just been read; undefined: it has none. Throws {@link BadImage}. */
  take({ name, pax }: Header): Attribute[] | undefined {
    const records = this.#records
    this.#records = undefined
    if (!records || !pax || !Object.keys(pax).some((key) => key.startsWith(prefix))) return undefined
    const attributes = [...recordsIn(records)].filter((record) => isKept(record.name))
    for (const attribute of attributes) check(attribute, name)
    return attributes
  }
}

/** A record is its length in digits, a space, a name, `=`, a value and a line feed. What is damaged ends the list. */
function* recordsIn(bytes: Buffer): Generator<Attribute> {
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at)
    const length = Number(bytes.toString('latin1', at, space))
    const equals = bytes.indexOf(0x3d, space)
    const end = at + length - 1
    if (!(space > at && equals > space && end > equals && end < bytes.length)) return
    const key = bytes.toString('utf8', space + 1, equals)
    if (key.startsWith(prefix)) yield { name: key.slice(prefix.length), value: bytes.subarray(equals + 1, end) }
    at = end + 1
  }
}

function check({ name, value }: Attribute, file: string): void {
  const what = `${shown(file)} has the extended attribute ${shown(name)}`
  if (name === 'user.' || name.includes('\0') || Buffer.byteLength(name) > mostNameBytes)
    throw new BadImage(`${what}, a name that no file system takes`)
  if (value.length > mostValueBytes)
    throw new BadImage(`${what} of ${value.length} bytes; the kernel takes ${mostValueBytes}`)
}
