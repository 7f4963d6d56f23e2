import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/** What the system does not say of a pipe, a socket or a device: a read of one may never end. */
export function notAFile(path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${path} is a pipe, a socket or a device`), { code: 'EFTYPE', path })
}

/** The text of a regular file. Throws what the system says, and EFTYPE for anything else; never waits for a writer. */
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
