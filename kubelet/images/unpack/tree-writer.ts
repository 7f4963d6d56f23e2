import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { BadImage, shown } from '../bad-image.ts'
import type { Chunks } from '../chunks.ts'
import type { ImageLimits } from '../limits.ts'
import type { Attribute } from './attributes.ts'
import type { Header } from './entries.ts'
import { setAttributes } from './set-attributes.ts'
import { partsOf, TreePaths } from './tree-paths.ts'

/** Says what of a layer its files alone do not say. Paths count from the root, without a slash in front. */
export interface LayerFacts {
  /** Lists what the layer removes from the layers below. */
  removed: string[]
  /** Folders of which the layers below show nothing. */
  opaque: string[]
  /** Folders that the archive only mentions: their mode and owner are those of the layers below. */
  implied: string[]
  bytes: number
  entries: number
}

const whiteout = '.wh.'
const opaqueMark = '.wh..wh..opq'
/** Other names that the format keeps for itself. */
const reserved = '.wh..wh.'
const isRoot = process.getuid?.() === 0

/**
 * Writes the entries of a layer's archive below a folder, which nothing that the archive says can leave. Owners are
 * root's to set; an ordinary user owns every file.
 */
export class TreeWriter {
  readonly #paths: TreePaths
  readonly #limits: ImageLimits
  readonly #implied = new Set<string>()
  readonly #times = new Map<string, Date>()
  readonly #attributes = new Map<string, readonly Attribute[]>()
  #attributeBytes = 0
  readonly #facts: LayerFacts = { removed: [], opaque: [], implied: [], bytes: 0, entries: 0 }

  constructor(folder: string, limits: ImageLimits) {
    mkdirSync(folder, { mode: 0o755 })
    this.#limits = limits
    this.#implied.add('')
    this.#paths = new TreePaths(folder, (made) => this.#implied.add(made))
  }

  async add(header: Header, content: Chunks): Promise<void> {
    this.#facts.entries += 1
    const { entries } = this.#limits
    if (this.#facts.entries > entries) throw new BadImage(`a layer has more than ${entries} files`)
    const parts = partsOf(header.name)
    const name = parts.at(-1)
    if (name?.startsWith(whiteout)) return this.#whiteOut(parts.slice(0, -1), name)
    const folder = this.#paths.folder(parts.slice(0, -1))
    const path = name === undefined ? '' : folder === '' ? name : `${folder}/${name}`
    switch (header.type) {
      case 'directory':
        return this.#addFolder(path, header)
      case 'file':
      case 'contiguous-file':
        return this.#addFile(path, header, content)
      case 'symlink':
        return this.#addSymlink(path, header)
      case 'link':
        return this.#addLink(path, header)
      default:
        // A container has its own /dev, whatever the image has there.
        if (parts[0] !== 'dev')
          throw new BadImage(`${shown(header.name)} is ${kindOf(header)}, which images cannot have`)
    }
  }

  /** Sets what can be set only after the last entry. */
  finish(): LayerFacts {
    setAttributes([...this.#attributes].map(([path, attributes]) => [this.#paths.at(path), attributes]))
    for (const [path, time] of [...this.#times].reverse()) utimesSync(this.#paths.at(path), time, time)
    return { ...this.#facts, implied: [...this.#implied] }
  }

  #whiteOut(folder: string[], name: string): void {
    const rest = name.slice(whiteout.length)
    if (name === opaqueMark) this.#facts.opaque.push(folder.join('/'))
    else if (name.startsWith(reserved)) return
    else if (rest === '' || rest === '.' || rest === '..') throw new BadImage(`${shown(name)} removes no file`)
    else this.#facts.removed.push([...folder, rest].join('/'))
  }

  #addFolder(path: string, header: Header): void {
    const place = this.#paths.at(path)
    if (path !== '' && !lstatSync(place, { throwIfNoEntry: false })?.isDirectory()) {
      this.#clear(path)
      mkdirSync(place)
    }
    this.#implied.delete(path)
    const { uid, gid, mode } = owned(header, 0o755)
    if (isRoot) chownSync(place, uid, gid)
    // An ordinary user who writes into the folder, or removes it, needs these rights.
    chmodSync(place, isRoot ? mode : mode | 0o700)
    this.#times.set(path, timeOf(header))
    this.#keepAttributes(path, header)
  }

  async #addFile(path: string, header: Header, content: Chunks): Promise<void> {
    this.#facts.bytes += header.size ?? 0
    const { bytes } = this.#limits
    if (this.#facts.bytes > bytes) throw new BadImage(`a layer has more than ${bytes} bytes`)
    this.#clear(path)
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
    const file = openSync(this.#paths.at(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      for await (const chunk of content) for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at)
      const { uid, gid, mode } = owned(header, 0o644)
      if (isRoot && (uid !== 0 || gid !== 0)) fchownSync(file, uid, gid)
      fchmodSync(file, isRoot ? mode : mode | 0o400)
      futimesSync(file, timeOf(header), timeOf(header))
    } finally {
      closeSync(file)
    }
    this.#keepAttributes(path, header)
  }

  /** A change of the owner would remove what a program may do, so they are set last. */
  #keepAttributes(path: string, { attributes = [] }: Header): void {
    if (attributes.length === 0) return
    for (const { name, value } of attributes) this.#attributeBytes += name.length + value.length
    const { attributeBytes } = this.#limits
    if (this.#attributeBytes > attributeBytes)
      throw new BadImage(`a layer has more than ${attributeBytes} bytes of extended attributes`)
    this.#attributes.set(path, attributes)
  }

  #addSymlink(path: string, header: Header): void {
    const target = header.linkname ?? ''
    if (target === '' || target.includes('\0')) throw new BadImage(`${shown(header.name)} is a link to nothing`)
    this.#clear(path)
    const place = this.#paths.at(path)
    symlinkSync(target, place)
    const { uid, gid } = owned(header, 0)
    if (isRoot && (uid !== 0 || gid !== 0)) lchownSync(place, uid, gid)
    lutimesSync(place, timeOf(header), timeOf(header))
  }

  #addLink(path: string, { name, linkname }: Header): void {
    const parts = partsOf(linkname ?? '')
    const folder = this.#paths.folder(parts.slice(0, -1), { exists: true })
    const target = folder === undefined ? undefined : this.#paths.at([folder, parts.at(-1)].filter(Boolean).join('/'))
    const found = target && lstatSync(target, { throwIfNoEntry: false })
    if (!target || !found || found.isDirectory())
      throw new BadImage(`${shown(name)} is a link to ${shown(linkname ?? '')}, which is not a file of the layer`)
    if (target === this.#paths.at(path)) return
    this.#clear(path)
    linkSync(target, this.#paths.at(path))
  }

  /** Makes room: a later entry of the same name counts. */
  #clear(path: string): void {
    if (path === '') throw new BadImage('the root of the image is not a folder')
    const found = lstatSync(this.#paths.at(path), { throwIfNoEntry: false })
    if (!found) return
    rmSync(this.#paths.at(path), { recursive: true })
    this.#attributes.delete(path)
    if (!found.isDirectory()) return
    this.#paths.forget()
    const isGone = (folder: string): boolean => folder === path || folder.startsWith(`${path}/`)
    for (const gone of [this.#implied, this.#times, this.#attributes])
      for (const folder of [...gone.keys()]) if (isGone(folder)) gone.delete(folder)
  }
}

const owned = ({ uid = 0, gid = 0, mode }: Header, usual: number) => ({ uid, gid, mode: (mode ?? usual) & 0o7777 })

/** A time that no file system has is the epoch's. */
function timeOf({ mtime }: Header): Date {
  const ms = mtime?.getTime() ?? 0
  return new Date(ms >= 0 && ms < 0xffff_ffff_000 ? ms : 0)
}

const kinds: Partial<Record<string, string>> = {
  'character-device': 'a device',
  'block-device': 'a device',
  fifo: 'a pipe',
}
const kindOf = ({ type }: Header): string => kinds[String(type)] ?? 'of an unknown kind'
