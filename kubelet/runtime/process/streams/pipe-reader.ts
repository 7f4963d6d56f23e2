import { constants, openSync, readSync } from 'node:fs'
import { Socket } from 'node:net'

/** Every pipe is read into this buffer: each piece is handled before the next is read. */
const scratch = Buffer.alloc(64 * 1024)

/** Reads a pipe as it fills. */
export interface PipeReader {
  /** Delivers what is in the pipe now; to be called when the writer has ended, whose last words are then there. */
  drain(): void
  /** Holds the writer up, once the pipe is full. */
  pause(): void
  resume(): void
  close(): void
}

/**
 * `onData` gets each piece only to look at: what it wants to keep, it copies. A pipe that is not there any more has
 * nothing to read.
 */
export function readPipe(pipe: string, onData: (data: Buffer) => void): PipeReader {
  const fd = openPipe(pipe)
  if (fd === undefined) return nothing
  let isOpen = true
  const callback = (bytes: number): boolean => {
    onData(scratch.subarray(0, bytes))
    return true
  }
  const socket = new Socket({ fd, readable: true, writable: false, onread: { buffer: scratch, callback } })
  const hasClosed = () => {
    isOpen = false // also by itself, when no writer is left
  }
  socket
    .on('error', () => {})
    .on('end', hasClosed)
    .on('close', hasClosed)
  return {
    drain() {
      if (isOpen) readAll(fd, onData)
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close() {
      if (!isOpen) return
      isOpen = false
      socket.destroy()
    },
  }
}

const nothing: PipeReader = { drain() {}, pause() {}, resume() {}, close() {} }

function openPipe(pipe: string): number | undefined {
  try {
    return openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
}

/** Reads what is available now, without waiting. */
function readAll(fd: number, onData: (data: Buffer) => void): void {
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
