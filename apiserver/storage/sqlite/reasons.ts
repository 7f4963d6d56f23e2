const elsewhere = 'name another with --storage'
const beginAnew = `move it away to begin with an empty cluster, or ${elsewhere}`
const full = `the disk is full; make room, or ${elsewhere}`

export const fullReason = `cannot be written: ${full}`

/** SQLite's primary result codes, in words that go after the file's name and end with what to do. */
const sqliteReasons: Record<number, string> = {
  5: `is in use by another process; stop that one, or ${elsewhere}`,
  8: `cannot be written: it is read-only; ${elsewhere}`,
  10: `cannot be read or written: the disk fails; ${elsewhere}`,
  11: `is damaged; ${beginAnew}`,
  13: fullReason,
  14: `cannot be opened; ${elsewhere}`,
  26: `is not a valid SQLite database; ${beginAnew}`,
}
const systemReasons: Record<string, string> = {
  EACCES: `cannot be opened: permission denied; ${elsewhere}`,
  EDQUOT: `cannot be written: the disk quota is used up; ${elsewhere}`,
  EISDIR: `is a folder; ${elsewhere}`,
  ENOENT: `cannot be made: no folder can be made there; ${elsewhere}`,
  ENOSPC: fullReason,
  ENOTDIR: `cannot be made: a part of its path is a file; ${elsewhere}`,
  EEXIST: `cannot be made: a part of its path is a file; ${elsewhere}`,
  EROFS: `cannot be written: the file system is read-only; ${elsewhere}`,
}

/** Thrown by ourselves for a file that is not ours to use; its message follows the file's name. */
export class UnusableFile extends Error {}

/** Thrown by ourselves where the room that is left is for deletes. */
export class FullDisk extends Error {
  readonly code = 'ENOSPC'
}

/** Returns whether a write failed because the disk is full. */
export function isFull(error: unknown): boolean {
  const { code = '', errcode = 0 } = error as { code?: string; errcode?: number }
  return (errcode & 0xff) === 13 || code === 'ENOSPC' || code === 'EDQUOT'
}

/** Returns what is wrong with the file and what to do; the text follows the file's name in a sentence. */
export function reasonOf(error: unknown): string {
  const { code = '', errcode = 0, message } = error as { code?: string; errcode?: number; message: string }
  if (error instanceof UnusableFile) return `${message}; ${elsewhere}`
  return sqliteReasons[errcode & 0xff] ?? systemReasons[code] ?? message
}
