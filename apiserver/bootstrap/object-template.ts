import { randomUUID } from 'node:crypto'
import type { KubeObject } from '../../shared/api/types.ts'
import { encodeObject } from '../kind/encode-object.ts'
import type { PutOptions } from '../storage/storage.ts'

interface Stamp {
  uid: string
  time: string
}

/** Stands for the UID and for each time in the object of a template. */
export const unstamped: Stamp = { uid: '@uid@', time: '@time@' }
const cut = /@(uid|time)@/

/** Encodes an object that every server makes when it starts, once for all clusters of a process. */
export class ObjectTemplate {
  readonly #key: string
  /** Every second piece names what stands in its place. */
  readonly #pieces: readonly string[]

  constructor(key: string, object: KubeObject) {
    this.#key = key
    this.#pieces = encodeObject(object).split(cut)
  }

  /** Returns the write that stores the object with a new UID, if there is none of its name. */
  put(time: string): PutOptions {
    const stamp: Stamp = { uid: randomUUID(), time }
    let value = ''
    for (const [index, piece] of this.#pieces.entries()) value += index % 2 === 0 ? piece : stamp[piece as keyof Stamp]
    return { key: this.#key, value, expect: 'absent' }
  }
}
