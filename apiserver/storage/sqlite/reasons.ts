/** SQLite's primary result codes, in words that go after the file's name. */
const sqliteReasons: Record<number, string> = {
  5: 'is in use by another process',
  8: 'cannot be written: it is read-only',
  10: 'cannot be read or written: the disk fails',
  11: 'is damaged',
  13: 'cannot be written: the disk is full',
  14: 'cannot be opened',
  26: 'is no database, or damaged',
}
const systemReasons: Record<string, string> = {
  EACCES: 'cannot be opened: permission denied',
  EISDIR: 'is a folder',
  ENOENT: 'cannot be made: no folder can be made there',
  ENOSPC: 'cannot be written: the disk is full',
  ENOTDIR: 'cannot be made: a part of its path is a file',
  EEXIST: 'cannot be made: a part of its path is a file',
  EROFS: 'cannot be made: the file system is read-only',
}

/** What is wrong with the file, to follow its name in a sentence. */
export function reasonOf(error: unknown): string {
  const { code = '', errcode = 0, message } = error as { code?: string; errcode?: number; message: string }
  return sqliteReasons[errcode & 0xff] ?? systemReasons[code] ?? message
}
