import { Socket } from 'node:net'

/** Ends this process when the other end of a pipe closes: its holder is gone. */
export function endWith(fd: number): void {
  new Socket({ fd, readable: true, writable: false })
    .on('close', () => process.exit(137))
    .on('error', () => process.exit(137))
    .resume()
    .unref()
}
