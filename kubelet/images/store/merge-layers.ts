import {
  chmodSync,
  chownSync,
  type Dirent,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  type Stats,
  utimesSync,
} from 'node:fs'
import type { LayerFacts } from '../unpack/tree-writer.ts'

/** The files of an unpacked layer, and what else it says. */
export interface Layer {
  files: string
  facts: LayerFacts
}

/**
 * Makes the tree that a container of the image sees: hard links to the files of the layers, the lowest layer first. It
 * copies no file, and never changes one. `root` does not exist yet.
 */
export function mergeLayers(layers: readonly Layer[], root: string): void {
  mkdirSync(root, { mode: 0o755 })
  for (const layer of layers) new Merge(layer, root).run()
}

const isRoot = process.getuid?.() === 0

class Merge {
  readonly #files: string
  readonly #root: string
  readonly #facts: LayerFacts
  readonly #implied: ReadonlySet<string>

  constructor({ files, facts }: Layer, root: string) {
    this.#files = files
    this.#root = root
    this.#facts = facts
    this.#implied = new Set(facts.implied)
  }

  run(): void {
    for (const path of this.#facts.removed) this.#remove(path)
    for (const path of this.#facts.opaque) this.#empty(path)
    this.#addFolder('', lstatSync(this.#files))
  }

  #addFolder(path: string, stat: Stats): void {
    const { place, isNew } = this.#folder(path)
    for (const entry of readdirSync(`${this.#files}/${path}`, { withFileTypes: true })) this.#add(path, entry)
    if (!isNew && this.#implied.has(path)) return
    if (isRoot) chownSync(place, stat.uid, stat.gid)
    chmodSync(place, stat.mode & 0o7777)
    utimesSync(place, stat.atime, stat.mtime)
  }

  #add(folder: string, entry: Dirent): void {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) {
      this.#addFolder(path, lstatSync(`${this.#files}/${path}`))
      return
    }
    const place = `${this.#root}/${path}`
    try {
      linkSync(`${this.#files}/${path}`, place)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      rmSync(place, { recursive: true })
      linkSync(`${this.#files}/${path}`, place)
    }
  }

  #folder(path: string): { place: string; isNew: boolean } {
    const place = `${this.#root}/${path}`
    const found = lstatSync(place, { throwIfNoEntry: false })
    if (found?.isDirectory()) return { place, isNew: path === '' }
    if (found) rmSync(place)
    mkdirSync(place, { mode: 0o700 })
    return { place, isNew: true }
  }

  #remove(path: string): void {
    if (this.#isWithinFolders(path)) rmSync(`${this.#root}/${path}`, { recursive: true, force: true })
  }

  #empty(path: string): void {
    const place = `${this.#root}/${path}`
    if (!this.#isWithinFolders(`${path}/.`)) return
    for (const name of readdirSync(place)) rmSync(`${place}/${name}`, { recursive: true, force: true })
  }

  /** A layer removes what is below, not what a link of a layer below leads to. */
  #isWithinFolders(path: string): boolean {
    const parts = path.split('/').slice(0, -1)
    const folders = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
    return folders.every((folder) => lstatSync(`${this.#root}/${folder}`, { throwIfNoEntry: false })?.isDirectory())
  }
}
