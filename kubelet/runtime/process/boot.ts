import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/**
 * The boot of the machine that a node stands for. The shim is that machine: as it starts, it removes the file, and
 * without the file nothing that an earlier kubelet recorded can still run.
 */
export class Boot {
  readonly #file: string
  #id: string | undefined

  constructor(runtimeRoot: string) {
    this.#file = path.join(runtimeRoot, 'boot')
  }

  /** Shown as the node's `bootID`; undefined until the shim has answered. */
  get id(): string | undefined {
    return this.#id
  }

  /** Call when the shim answers: true if it is the one that the kubelet before used. Otherwise a new boot begins. */
  continues(): boolean {
    try {
      this.#id = readFileSync(this.#file, 'utf8')
      return true
    } catch {
      this.begin()
      return false
    }
  }

  begin(): void {
    this.#id = randomUUID()
    try {
      writeFileSync(this.#file, this.#id)
    } catch {
      // On a full disk: the next kubelet takes its start for a reboot.
    }
  }
}
