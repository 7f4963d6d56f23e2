import { constants, openSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ConfigError } from '../../../shared/config/option.ts'

/** Bytes of a path in the address of a Unix socket, on Linux 108 with the byte that ends it; elsewhere 104. */
const maxPathBytes = 103

/** Names the file with the revision of the store that is offered at a socket. */
export const pageOf = (socket: string): string => `${socket}.revision`

/**
 * Returns the path of a socket in a form that is short enough for the system. On Linux the folder is opened, and named
 * by its descriptor, which stays open. Throws a ConfigError where there is no short form.
 */
export function addressOf(socket: string): string {
  if (Buffer.byteLength(socket) <= maxPathBytes) return socket
  if (process.platform !== 'linux')
    throw new ConfigError(`the path of the socket ${socket} is too long; choose a shorter --state-dir`)
  return join(`/proc/self/fd/${openSync(dirname(socket), constants.O_DIRECTORY)}`, basename(socket))
}
