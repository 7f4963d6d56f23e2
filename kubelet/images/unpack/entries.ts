import { extract, type Header as TarHeader } from 'tar-stream'
import { nextRoom } from '../../../shared/http/drained.ts'
import { BadImage } from '../bad-image.ts'
import type { Chunks } from '../chunks.ts'
import { type Attribute, PaxAttributes } from './attributes.ts'

export type Header = TarHeader & { attributes?: readonly Attribute[] }

/**
 * Visits the entries of a tar archive one after the other; what a visitor does not read of an entry is skipped. Throws
 * {@link BadImage} for what is no archive, or only the beginning of one.
 */
export async function eachEntry(
  chunks: Chunks,
  what: string,
  visit: (header: Header, content: Chunks) => Promise<void> | void,
): Promise<void> {
  const archive = extract()
  const pax = new PaxAttributes(archive)
  let broken: unknown
  const fed = feed(chunks, archive).catch((error: unknown) => {
    broken = error
    archive.destroy(new Error('aborted'))
  })
  try {
    for await (const entry of archive) {
      const attributes = pax.take(entry.header)
      await visit(attributes ? { ...entry.header, attributes } : entry.header, entry as Chunks)
      entry.resume()
    }
  } catch (error) {
    await fed
    throw broken ?? inOurWords(error as Error, what)
  }
  await fed
  if (broken) throw broken
}

async function feed(chunks: Chunks, archive: ReturnType<typeof extract>): Promise<void> {
  for await (const chunk of chunks) {
    if (archive.destroyed) return
    if (!archive.write(chunk as Buffer)) await nextRoom(archive)
  }
  archive.end(null)
}

/** The library's own errors have no code; the system's have one. */
function inOurWords(error: Error, what: string): Error {
  if (error instanceof BadImage || 'code' in error) return error
  if (error.message === 'Unexpected end of data') return new BadImage(`${what} is truncated`)
  return new BadImage(`${what} is not a valid tar archive: ${error.message}`)
}
