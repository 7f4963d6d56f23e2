import { ConfigError } from './option.ts'

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk fails',
  EMFILE: 'too many files are open (ulimit -n)',
  ENFILE: 'too many files are open on this machine',
  ENOTDIR: 'a part of its path is a file',
  EISDIR: 'it is a folder',
  EEXIST: 'there is something of that name',
  ENOENT: 'there is no such file or folder',
}

export interface Wording {
  /** How the sentence begins. Default: that the file which the system names cannot be used. */
  place?: string
  /** How it ends. */
  remedy?: string
}

/** Why the system refuses, in words; its own code where there are none. */
export const whyRefused = ({ code = '' }: NodeJS.ErrnoException): string => reasons[code] ?? code

/**
 * What a file, a folder or a disk refuses, as one sentence; undefined for every other error. `ownReasons` by code win.
 */
export function inOneSentence(
  error: NodeJS.ErrnoException,
  { place = error.path && `cannot use ${error.path}`, remedy }: Wording = {},
  ownReasons: Readonly<Record<string, string>> = {},
): ConfigError | undefined {
  const reason = ownReasons[error.code ?? ''] ?? reasons[error.code ?? '']
  if (reason === undefined || place === undefined) return undefined
  return new ConfigError(`${place}: ${reason}${remedy ? `; ${remedy}` : ''}`)
}
