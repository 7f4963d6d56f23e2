import { constants, openSync } from 'node:fs'
import { Socket } from 'node:net'

/** The writing end of a pipe that a process reads; the shim has another. Undefined when the process is gone. */
export function openInput(pipe: string): Socket | undefined {
  try {
    const socket = new Socket({
      fd: openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK),
      readable: false,
      writable: true,
    })
    socket.on('error', () => socket.destroy())
    return socket
  } catch {
    return undefined
  }
}
