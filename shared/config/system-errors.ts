import { getSystemErrorMap } from 'node:util'
import { otherOwner } from '../files/owner.ts'
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
  ENOENT: 'no such file or folder',
  ELOOP: 'its links lead back to themselves',
  ENAMETOOLONG: 'its name is too long',
  EFTYPE: 'it is a pipe, a socket or a device',
  ENXIO: 'it is a socket, or a device that is not there',
  EFBIG: 'it would be larger than files may be (ulimit -f)',
  EBUSY: 'it is in use',
  EAGAIN: 'no more processes may be started (ulimit -u, or pids.max of the cgroup)',
  ENOMEM: 'there is not enough memory',
}

export interface Wording {
  /** Begins the sentence. Default: that the file which the system names cannot be used. */
  place?: string
  /** Ends the sentence. */
  remedy?: string
}

/** Names the owner of a file that another user does not let the program use. */
function ownerIn({ code = '', path }: NodeJS.ErrnoException): string {
  const owner = path !== undefined && ['EACCES', 'EPERM'].includes(code) ? otherOwner(path) : undefined
  return owner ? `: ${owner.path} belongs to user ${owner.user}` : ''
}

/** Says why the system refuses, in Kubestage's words if it has some for the code, else in the system's. */
export const whyRefused = (error: NodeJS.ErrnoException): string =>
  (reasons[error.code ?? ''] ?? ownWords(error)) + ownerIn(error)

const ownWords = ({ code = '', errno }: NodeJS.ErrnoException): string =>
  (errno !== undefined && getSystemErrorMap().get(errno)?.[1]) || code

/**
 * Turns an error of a file, a folder or a disk into one sentence; undefined for every other error. A text in
 * `ownReasons` wins over the default text of its code.
 */
export function inOneSentence(
  error: NodeJS.ErrnoException,
  { place = error.path && `cannot use ${error.path}`, remedy }: Wording = {},
  ownReasons: Readonly<Record<string, string>> = {},
): ConfigError | undefined {
  const { code = '', path } = error
  const reason = ownReasons[code] ?? reasons[code] ?? (path && ownWords(error))
  if (!reason || place === undefined) return undefined
  return new ConfigError(`${place}: ${reason}${ownerIn(error)}${remedy ? `; ${remedy}` : ''}`)
}
