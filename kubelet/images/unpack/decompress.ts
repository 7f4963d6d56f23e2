import { pipeline, Readable, type Transform } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { BadImage } from '../bad-image.ts'
import { type Chunks, peek } from '../chunks.ts'

const chunkSize = 256 * 1024
const gzip = Buffer.from([0x1f, 0x8b])
const zstd = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
const others = { bzip2: Buffer.from('BZh'), xz: Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a]) }

/** Decompresses gzip and zstd, which it tells by their first bytes; anything else comes as it is. */
export async function decompressed(chunks: Chunks, what: string): Promise<{ chunks: Chunks; wasPacked: boolean }> {
  const { head, all } = await peek(chunks, 5)
  const begins = (magic: Buffer): boolean => head.subarray(0, magic.length).equals(magic)
  for (const [name, magic] of Object.entries(others))
    if (begins(magic)) throw new BadImage(`${what} is compressed with ${name}; gzip and zstd are known`)
  const through = (decoder: Transform) => ({ chunks: decoding(all, decoder, what), wasPacked: true })
  if (begins(gzip)) return through(createGunzip({ chunkSize }))
  if (begins(zstd)) return through(createZstdDecompress({ chunkSize }))
  return { chunks: all, wasPacked: false }
}

/** An archive, compressed or not, by its first 512 bytes. */
export function isArchive(head: Buffer): boolean {
  const magics = [gzip, zstd, ...Object.values(others)]
  if (magics.some((magic) => head.subarray(0, magic.length).equals(magic))) return true
  return head.length === 512 && (head.toString('latin1', 257, 262) === 'ustar' || head.every((byte) => byte === 0))
}

async function* decoding(chunks: Chunks, decoder: Transform, what: string): AsyncGenerator<Uint8Array> {
  let broken: unknown
  const source = Readable.from(chunks, { objectMode: false })
  source.on('error', (error) => {
    broken = error
  })
  pipeline(source, decoder, () => {})
  try {
    yield* decoder as AsyncIterable<Uint8Array>
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (broken || !/^(?:Z|ZSTD|ERR)_/.test(code)) throw broken ?? error
    const isShort = code === 'Z_BUF_ERROR' || /unexpected end|truncated|wrong/i.test(message)
    throw new BadImage(isShort ? `${what} is truncated` : `${what} cannot be decompressed: ${message}`)
  }
}
