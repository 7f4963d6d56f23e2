import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/** Returns the error for a pipe, a socket or a device, for which the system has none: a read from it may never end. */
export function notAFile(path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${path} is a pipe, a socket or a device`), { code: 'EFTYPE', path })
}

/**
 * Reads the text of a regular file. Throws the system's error, and EFTYPE if it is not a regular file. It never waits
 * for a writer.
 */
export function readRegularFile(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(descriptor)
    if (found.isFile() || found.isDirectory()) return readFileSync(descriptor, 'utf8')
    throw notAFile(path)
  } catch (error) {
    throw Object.assign(error as Error, { path })
  } finally {
    closeSync(descriptor)
  }
}
