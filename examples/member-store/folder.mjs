/**
 * A member is its folder, not its pod: the pod that holds the folder is that member. A pod that comes back takes the folder
 * that its predecessor left, and with it all the data. The name says who holds it: `4f21c09a@10.0.0.7`, or `4f21c09a` alone
 * if no pod does. To rename a folder is to take it, and of two pods that try only one succeeds.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Resolves to a folder below `root` that this pod now holds: one that is free, else a new one. Where there are `limit` folders already
 * it waits for one of them, and calls `standBy`. `stateOf(address)` says what has become of a folder's holder. Undefined: aborted.
 */
export async function takeFolder(root, { address, limit, stateOf, standBy, signal }) {
  while (!signal.aborted) {
    const names = (await readdir(root)).filter((name) => /^[0-9a-f]{8}(@|$)/.test(name))
    let isOneComingFree = false
    for (const name of names) {
      const [id, holder] = name.split('@')
      const state = holder === undefined || holder === address ? 'gone' : await stateOf(holder)
      if (state === 'ending') isOneComingFree = true
      if (state !== 'gone') continue
      const taken = new Folder(root, id, address)
      if (await taken.takeFrom(name)) return taken
    }
    if (!isOneComingFree) {
      if (names.length < limit) return Folder.make(root, address)
      standBy()
    }
    await sleep(100)
  }
}

class Folder {
  #root
  #name

  static async make(root, address) {
    const folder = new Folder(root, randomBytes(4).toString('hex'), address)
    await mkdir(folder.#path())
    return folder
  }

  constructor(root, id, address) {
    this.#root = root
    this.id = id
    this.#name = `${id}@${address}`
  }

  /** Resolves to false if another pod was faster. */
  takeFrom(name) {
    return this.#rename(name, this.#name).then(
      () => true,
      () => false,
    )
  }

  /** `{ key: { version, value } }`, as it was flushed. */
  async load() {
    try {
      return JSON.parse(await readFile(this.#path('data.json'), 'utf8'))
    } catch (error) {
      if (error.code === 'ENOENT') return {}
      throw error
    }
  }

  /** Resolves when the storage medium has it. */
  async flush(data) {
    const file = await open(this.#path('data.json.new'), 'w')
    try {
      await file.writeFile(JSON.stringify(data))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(this.#path('data.json.new'), this.#path('data.json'))
  }

  /** Leaves the data to the pod that comes next. */
  release() {
    return this.#rename(this.#name, this.id)
  }

  /** The member is none any more. */
  remove() {
    return rm(this.#path(), { recursive: true })
  }

  #rename(from, to) {
    return rename(join(this.#root, from), join(this.#root, to))
  }

  #path(file = '') {
    return join(this.#root, this.#name, file)
  }
}
