import { Socket } from 'node:net'
import { drain, openPipe } from './pipe-pool.ts'

/** Reads a named pipe as it fills. */
export interface PipeReader {
  /** Delivers what is in the pipe now; to be called when the writer has ended, whose last words are then there. */
  drain(): void
  /** Holds the writer up, once the pipe is full. */
  pause(): void
  resume(): void
  close(): void
}

export function readPipe(pipe: string, onData: (data: Buffer) => void): PipeReader {
  const fd = openPipe(pipe)
  const socket = new Socket({ fd, readable: true, writable: false })
  socket.on('data', onData)
  let open = true
  socket.on('error', () => {})
  socket.on('close', () => {
    open = false // also by itself, when the shim that held the other end is gone
  })
  return {
    drain() {
      if (!open) return
      // What was read before a pause; reading it tells the listener.
      while (socket.read() !== null);
      drain(fd, onData)
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close() {
      if (!open) return
      open = false
      socket.destroy()
    },
  }
}
