import { constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { Writable } from 'node:stream'

/** The writing end of a named pipe that may still have to be made. When it is the only one, ending it is the reader's end of file. */
export class InputPipe extends Writable {
  readonly #opened = Promise.withResolvers<Socket>()
  #socket: Socket | undefined

  /** The pipe is there now. It is opened as soon as its reader has: what were written and ended before that would be lost. */
  open(pipe: string): void {
    if (this.#socket || this.destroyed) return
    let fd: number
    try {
      fd = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
    } catch (error) {
      // Nobody has opened it for reading, or waits in doing so.
      if ((error as NodeJS.ErrnoException).code === 'ENXIO') setImmediate(() => this.open(pipe))
      else this.destroy()
      return
    }
    this.#socket = new Socket({ fd, readable: false, writable: true })
    this.#socket.on('error', () => this.destroy())
    this.#opened.resolve(this.#socket)
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#opened.promise.then((socket) => socket.write(chunk, done))
  }

  override _final(done: () => void): void {
    this.#opened.promise.then((socket) => {
      socket.destroy()
      done()
    })
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket?.destroy()
    done(error)
  }
}
