import { closeSync, existsSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { isFull } from './reasons.ts'

/** Twice what the log of writes grows to: one half is for what it holds, one for what comes. */
const largest = 8 * 1024 * 1024
const smallest = 256 * 1024
/** Bounds the part of the disk, so that it does not fill a small one. */
const share = 1 / 8

/**
 * Room that is taken ahead beside a storage file, so that on a full disk deletes can still be written, and a server can
 * start. It is given back when the disk is full, and taken again when there is room.
 */
export class Reserve {
  readonly #file: string
  #isHeld: boolean

  constructor(storageFile: string) {
    this.#file = reserveOf(storageFile)
    this.#isHeld = existsSync(this.#file)
  }

  /** Says whether the reserve is held; false while the disk is full. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Creates the file. Returns whether it exists now. */
  take(): boolean {
    if (this.#isHeld) return true
    try {
      const { free, all } = bytesOf(this.#file)
      const bytes = Math.min(largest, Math.floor(all * share))
      // With so much left that the next write does not ask for it back. A tiny disk has room for none.
      if (free < 2 * Math.max(bytes, smallest / 2)) return false
      if (bytes >= smallest) fill(this.#file, bytes)
      this.#isHeld = true
    } catch (error) {
      this.release() // what was written of it
      this.#isHeld = !isFull(error)
    }
    return this.#isHeld
  }

  release(): void {
    this.#isHeld = false
    try {
      rmSync(this.#file, { force: true })
    } catch {
      // Nothing can be removed from this disk.
    }
  }
}

/** Before a start, which needs room for small files: gives the reserve back where there is none. */
export function releaseWhereFull(storageFile: string): void {
  const file = reserveOf(storageFile)
  try {
    if (existsSync(file) && bytesOf(file).free < smallest) rmSync(file)
  } catch {
    // A disk that cannot be looked at cannot be helped.
  }
}

/** Writes in pieces: memory of that size would be kept for long. */
function fill(file: string, bytes: number): void {
  const piece = Buffer.alloc(64 * 1024)
  const fd = openSync(file, 'w', 0o600)
  try {
    for (let done = 0; done < bytes; done += piece.length) writeSync(fd, piece)
  } finally {
    closeSync(fd)
  }
}

const reserveOf = (storageFile: string): string => `${storageFile}-reserve`

function bytesOf(file: string): { free: number; all: number } {
  const { bavail, blocks, bsize } = statfsSync(dirname(file))
  return { free: bavail * bsize, all: blocks * bsize }
}
