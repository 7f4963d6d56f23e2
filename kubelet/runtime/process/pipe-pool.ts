import { randomBytes } from 'node:crypto'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import path from 'node:path'

const batchSize = 64
const scratch = Buffer.alloc(64 * 1024)

/** Named pipes for output, made many at a time by the shim, which holds them open: what a container writes while no kubelet reads is kept. */
export interface PipePool {
  take(): Promise<string>
  /** Whoever had it is dead: what is left in it is thrown away. */
  give(pipe: string): void
}

export interface PipePoolOptions {
  root: string
  /** Pipes that exist and are in nobody's use. */
  free: string[]
  /** Asks for a batch; resolves when it is there. */
  makeBatch(name: string, count: number): Promise<void>
}

export function createPipePool({ root, free, makeBatch }: PipePoolOptions): PipePool {
  let growing: Promise<void> | undefined

  async function grow(): Promise<void> {
    const name = randomBytes(6).toString('hex')
    await makeBatch(name, batchSize)
    for (let i = 0; i < batchSize; i++) free.push(path.join(root, 'pipes', `${name}.${i}`))
  }

  return {
    async take() {
      for (;;) {
        const pipe = free.pop()
        if (pipe !== undefined) return pipe
        growing ??= grow().finally(() => {
          growing = undefined
        })
        await growing
      }
    },
    give(pipe) {
      try {
        const fd = openPipe(pipe)
        try {
          drain(fd, () => {})
        } finally {
          closeSync(fd)
        }
        free.push(pipe)
      } catch {
        // The pipe is gone with its shim: it is nobody's loss.
      }
    },
  }
}

export const openPipe = (pipe: string): number => openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)

/** Reads what is there now, without waiting. */
export function drain(fd: number, onData: (data: Buffer) => void): void {
  for (;;) {
    let bytes: number
    try {
      bytes = readSync(fd, scratch, 0, scratch.length, null)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return
      throw error
    }
    if (bytes === 0) return
    onData(scratch.subarray(0, bytes))
  }
}
