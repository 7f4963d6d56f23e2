import { lstatSync, mkdirSync, readlinkSync } from 'node:fs'
import { BadImage, shown } from '../bad-image.ts'

/** A link that leads on to more links than the kernel follows. */
const mostLinks = 40

/** The parts of an entry's name, which counts from the image's root. Throws {@link BadImage} if it leads out of it. */
export function partsOf(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..') || name.includes('\0')) throw new BadImage(`${shown(name)} leads out of the image`)
  return parts
}

/** Finds the folders of a tree that is being written, and makes missing ones. It never leaves the tree. */
export class TreePaths {
  readonly #root: string
  /** Folders, none of which is reached by a link. */
  readonly #known = new Set<string>([''])
  readonly #onMade: (folder: string) => void

  constructor(root: string, onMade: (folder: string) => void) {
    this.#root = root
    this.#onMade = onMade
  }

  at(path: string): string {
    return path === '' ? this.#root : `${this.#root}/${path}`
  }

  /** Forgets what is known of the tree, because something may have been replaced. */
  forget(): void {
    this.#known.clear()
    this.#known.add('')
  }

  /**
   * Where the folder with these parts is, links followed within the tree as a container would. A missing one is made,
   * or with `exists` undefined. Throws {@link BadImage} for a link out of the tree, and for a file that is no folder.
   */
  folder(parts: readonly string[], options?: { exists: false }): string
  folder(parts: readonly string[], options: { exists: true }): string | undefined
  folder(parts: readonly string[], { exists = false } = {}): string | undefined {
    const wanted = parts.join('/')
    if (this.#known.has(wanted)) return wanted
    const place: string[] = []
    const rest = [...parts]
    let links = 0
    for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
      if (part === '' || part === '.') continue
      if (part === '..') {
        if (place.pop() === undefined) throw new BadImage(`${shown(wanted)} leads out of the image by a link`)
        continue
      }
      const path = [...place, part].join('/')
      const found = this.#known.has(path) ? 'folder' : this.#kind(path)
      if (found === undefined && exists) return undefined
      if (found === 'file') throw new BadImage(`${shown(path)} is not a folder, but ${shown(wanted)} is within it`)
      if (found === 'link') {
        links += 1
        if (links > mostLinks) throw new BadImage(`${shown(wanted)} leads through too many links`)
        const target = readlinkSync(this.at(path))
        if (target.startsWith('/')) place.length = 0
        rest.unshift(...target.split('/'))
        continue
      }
      if (found === undefined) this.#make(path)
      place.push(part)
    }
    const path = place.join('/')
    this.#known.add(path)
    return path
  }

  #kind(path: string): 'folder' | 'link' | 'file' | undefined {
    const found = lstatSync(this.at(path), { throwIfNoEntry: false })
    if (!found) return undefined
    return found.isDirectory() ? 'folder' : found.isSymbolicLink() ? 'link' : 'file'
  }

  #make(path: string): void {
    mkdirSync(this.at(path), { mode: 0o755 })
    this.#onMade(path)
  }
}
