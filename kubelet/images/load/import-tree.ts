import { createReadStream, type Dirent, lstatSync, readdirSync, readlinkSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Pack, pack } from 'tar-stream'
import { nextRoom } from '../../../shared/http/drained.ts'
import type { Chunks } from '../chunks.ts'
import { type Digest, digestOf } from '../digest.ts'
import { readConfig } from '../documents.ts'
import { thisPlatform } from '../platform.ts'
import { readName } from '../store/image-names.ts'
import type { ImageRecord } from '../store/image-record.ts'
import type { ImageStore } from '../store/image-store.ts'
import { unpackLayer } from '../unpack/unpack-layer.ts'

/**
 * Makes an image of one layer from a folder, or from an archive of one (`docker export`). It has no command: its
 * containers need one of their own.
 */
export async function importTree(store: ImageStore, source: string, name: string): Promise<ImageRecord[]> {
  const names = [readName(name)]
  const loading = await store.begin()
  try {
    const chunks = statSync(source).isDirectory() ? archiveOf(source) : createReadStream(source)
    const layer = await unpackLayer(chunks as Chunks, loading.newPlace(), { what: source })
    loading.addLayer(layer)
    const bytes = Buffer.from(configOf(layer.diffId))
    return loading.addImage({
      names,
      config: readConfig(bytes, source),
      configBlob: { digest: digestOf(bytes), bytes },
    })
  } finally {
    loading.end()
  }
}

const configOf = (diffId: Digest): string =>
  JSON.stringify({ ...thisPlatform, config: {}, rootfs: { type: 'layers', diff_ids: [diffId] } })

/** An archive of a folder: the same folder makes the same archive. Sockets and devices are left out. */
function archiveOf(folder: string): AsyncIterable<Uint8Array> {
  const archive = pack()
  addFolder(archive, folder, '', new Map()).then(
    () => archive.finalize(),
    (error: Error) => archive.destroy(error),
  )
  return archive as AsyncIterable<Uint8Array>
}

async function addFolder(archive: Pack, root: string, path: string, links: Map<string, string>): Promise<void> {
  const stat = lstatSync(join(root, path))
  if (path !== '') archive.entry({ ...headerOf(path, stat), type: 'directory' })
  const entries = readdirSync(join(root, path), { withFileTypes: true })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1)))
    await addEntry(archive, root, join(path, entry.name), entry, links)
}

async function addEntry(archive: Pack, root: string, path: string, entry: Dirent, links: Map<string, string>) {
  if (entry.isDirectory()) return addFolder(archive, root, path, links)
  const place = join(root, path)
  const stat = lstatSync(place)
  const header = headerOf(path, stat)
  if (entry.isSymbolicLink()) return void archive.entry({ ...header, type: 'symlink', linkname: readlinkSync(place) })
  if (!entry.isFile()) return
  const file = `${stat.dev}:${stat.ino}`
  const earlier = links.get(file)
  if (earlier) return void archive.entry({ ...header, type: 'link', linkname: earlier })
  if (stat.nlink > 1) links.set(file, path)
  await addFile(archive, { ...header, type: 'file', size: stat.size }, place)
}

async function addFile(archive: Pack, header: Parameters<Pack['entry']>[0], place: string): Promise<void> {
  const entry = archive.entry(header)
  if (header.size !== 0) {
    // The size stands in front of the content: what is written to the file meanwhile does not count.
    for await (const chunk of createReadStream(place, { end: (header.size ?? 0) - 1 }))
      if (!entry.write(chunk)) await nextRoom(entry)
  }
  const ended = new Promise<void>((resolve, reject) => entry.once('close', resolve).once('error', reject))
  entry.end(null)
  await ended
}

const headerOf = (name: string, { mode, uid, gid, mtime }: Stats) => ({ name, mode: mode & 0o7777, uid, gid, mtime })
