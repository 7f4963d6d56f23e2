import { rmSync } from 'node:fs'
import type { Clock } from '../../shared/clock/clock.ts'
import { type Holder, holderFor } from '../../shared/files/lock.ts'
import { makeFolder } from '../../shared/files/make-folder.ts'
import { readRegularFile } from '../../shared/files/regular-file.ts'
import { writePrivately } from '../../shared/pki/files.ts'
import { guardian } from '../guardian.ts'
import { Adopted } from './adopted.ts'
import type { Supervised } from './child.ts'

/**
 * Written beside a process that lives on when the API server that started it ends by itself, since the guardian holds
 * its life line: the next server of the same guardian finds it there.
 */
export class LeftRunning<Place extends object> {
  readonly #folder: string
  readonly #guardian = guardian()
  #pid: number | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Standard input for the process; undefined: a pipe of this process, with which it ends. */
  get lifeLine(): number | undefined {
    return this.#guardian?.lifeLine
  }

  /** Returns where the process of the server before listens; undefined for the first server. */
  place(): Place | undefined {
    const left = this.#read()
    return left?.guardian === this.#guardian?.pid && this.#guardian?.restarts ? left?.place : undefined
  }

  /** Returns the process of the server before, if it still runs. */
  process(clock: Clock): Adopted | undefined {
    const left = this.place() && this.#read()
    return left && Adopted.of(left.holder, clock)
  }

  write(child: Supervised, place: Place): void {
    this.#pid = child.pid
    if (!this.#guardian || child.pid === undefined) return
    const left: Left<Place> = { guardian: this.#guardian.pid, holder: holderFor(child.pid), place }
    makeFolder(this.#folder)
    writePrivately(this.#file, `${JSON.stringify(left)}\n`)
  }

  /** The process has ended: so has what watched its life line (`tied`), which is of its process group. */
  ended(): void {
    const pid = this.#pid
    this.#pid = undefined
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    } catch {
      // Nothing is left of the group.
    }
  }

  /** The process was stopped: no later server looks for it. */
  forget(): void {
    this.ended()
    rmSync(this.#file, { force: true })
  }

  get #file(): string {
    return `${this.#folder}/running.json`
  }

  #read(): Left<Place> | undefined {
    try {
      return JSON.parse(readRegularFile(this.#file)) as Left<Place>
    } catch {
      return undefined
    }
  }
}

interface Left<Place> {
  /** Process id of the guardian whose servers may take it over. */
  guardian: number
  holder: Holder
  place: Place
}
