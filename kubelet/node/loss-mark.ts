import { readFileSync, rmSync, writeFileSync } from 'node:fs'

/** Tells the next kubelet on the same machine that the node is lost, and where this one was to be found. */
export interface LossMark {
  /** The port that the API server knows; undefined while the node is not lost. */
  readonly port: number | undefined
  set(port: number): void
  clear(): void
}

/** Kept in a file, which goes with the machine. */
export function createLossMark(file: string): LossMark {
  return {
    get port() {
      try {
        return Number(readFileSync(file, 'utf8'))
      } catch {
        return undefined
      }
    },
    set: (port) => writeFileSync(file, String(port)),
    clear: () => rmSync(file, { force: true }),
  }
}
