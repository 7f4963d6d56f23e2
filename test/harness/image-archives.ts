import { createHash } from 'node:crypto'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { type Header, pack } from 'tar-stream'

export type Entry = Omit<Partial<Header>, 'pax'> & {
  name: string
  content?: string | Buffer
  pax?: Record<string, string>
}

export const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** A tar archive of these entries, as bytes. */
export async function tarOf(entries: readonly Entry[]): Promise<Buffer> {
  const archive = pack()
  for (const { content = '', ...header } of entries) archive.entry(header, content)
  archive.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of archive as AsyncIterable<Buffer>) chunks.push(chunk)
  return withPaxHeaders(Buffer.concat(chunks))
}

/** Makes PAX headers of the files `pax-x` (of the next entry) and `pax-g` (of all): the library writes none with bytes. */
function withPaxHeaders(archive: Buffer): Buffer {
  for (let at = 0; at < archive.length && archive[at]; ) {
    const [, type] = /^pax-([xg])\0/.exec(archive.toString('latin1', at, at + 6)) ?? []
    if (type) {
      const header = archive.subarray(at, at + 512)
      header.write(type, 156)
      header.write('        ', 148)
      header.write(
        `${header
          .reduce((sum, byte) => sum + byte)
          .toString(8)
          .padStart(6, '0')}\0 `,
        148,
      )
    }
    const size = Number.parseInt(archive.toString('latin1', at + 124, at + 135), 8)
    at += 512 + Math.ceil(size / 512) * 512
  }
  return archive
}

export const file = (name: string, content: string | Buffer, more: Omit<Entry, 'name'> = {}): Entry => ({
  name,
  content,
  ...more,
})
export const folder = (name: string, more: Omit<Entry, 'name'> = {}): Entry => ({ name, type: 'directory', ...more })
export const symlink = (name: string, linkname: string): Entry => ({ name, type: 'symlink', linkname })
export const link = (name: string, linkname: string): Entry => ({ name, type: 'link', linkname })

export interface ImageParts {
  name?: string
  layers: readonly Buffer[]
  config?: object
  platform?: { os: string; architecture: string }
}

const machine = { os: 'linux', architecture: process.arch === 'x64' ? 'amd64' : process.arch }

const configOf = ({ layers, config = {}, platform = machine }: ImageParts): string =>
  JSON.stringify({
    ...platform,
    config,
    rootfs: { type: 'layers', diff_ids: layers.map((layer) => `sha256:${sha256(layer)}`) },
  })

/** What `docker save` wrote before version 25: a folder for each layer, and the manifest last. */
export function savedEntries(image: ImageParts): Entry[] {
  const config = configOf(image)
  const layers = image.layers.map((layer) => `${sha256(layer).slice(0, 12)}/layer.tar`)
  const manifest = [{ Config: `${sha256(config)}.json`, RepoTags: image.name ? [image.name] : null, Layers: layers }]
  return [
    ...image.layers.map((layer, index) => file(layers[index] ?? '', layer)),
    file(`${sha256(config)}.json`, config),
    file('manifest.json', JSON.stringify(manifest)),
  ]
}

const packers = { gzip: gzipSync, zstd: zstdCompressSync, none: (bytes: Buffer) => bytes }

/** An OCI layout: names of files and their content. */
export function ociFiles(image: ImageParts, packing: keyof typeof packers = 'gzip'): Map<string, Buffer> {
  const config = Buffer.from(configOf(image))
  const layers = image.layers.map((layer) => packers[packing](layer))
  const descriptor = (mediaType: string, bytes: Buffer) => ({
    mediaType: `application/vnd.oci.image.${mediaType}`,
    digest: `sha256:${sha256(bytes)}`,
    size: bytes.length,
  })
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: descriptor('config.v1+json', config),
      layers: layers.map((layer) => descriptor(`layer.v1.tar${packing === 'none' ? '' : `+${packing}`}`, layer)),
    }),
  )
  const annotations = image.name ? { 'io.containerd.image.name': image.name } : {}
  const index = { schemaVersion: 2, manifests: [{ ...descriptor('manifest.v1+json', manifest), annotations }] }
  return new Map([
    ...[config, manifest, ...layers].map((bytes): [string, Buffer] => [`blobs/sha256/${sha256(bytes)}`, bytes]),
    ['oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}')],
    ['index.json', Buffer.from(JSON.stringify(index))],
  ])
}

export const entriesOf = (files: ReadonlyMap<string, Buffer>): Entry[] =>
  [...files].map(([name, content]) => file(name, content))
