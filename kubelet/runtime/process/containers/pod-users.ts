import { createHash } from 'node:crypto'
import { USERS } from '../view/users-here.ts'

/** The machine's own users, and those that machines give to people, come first. */
const FIRST_BLOCK = 0x4000
const LAST_BLOCK = 0xfffe

/** Gives each pod a block of users that no other pod of the node has. Nodes of a machine begin at different blocks. */
export class PodUsers {
  readonly #taken = new Set<number>()
  #last: number

  /** `root` is the folder of the node's runtime. */
  constructor(root: string) {
    const seed = createHash('sha256').update(root).digest().readUInt32BE()
    this.#last = FIRST_BLOCK + (seed % (LAST_BLOCK - FIRST_BLOCK))
  }

  keep(firstUser: number): void {
    this.#taken.add(firstUser)
  }

  take(): number {
    do this.#last = this.#last >= LAST_BLOCK ? FIRST_BLOCK : this.#last + 1
    while (this.#taken.has(this.#last * USERS))
    this.#taken.add(this.#last * USERS)
    return this.#last * USERS
  }

  give(firstUser: number): void {
    this.#taken.delete(firstUser)
  }
}
