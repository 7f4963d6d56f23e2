import { closeSync, mkdirSync, openSync, type Stats, statSync } from 'node:fs'
import path from 'node:path'
import { VolumeError } from './volume-payload.ts'

const CHECKS: Record<string, { holds(stats: Stats): boolean; wanted: string }> = {
  Directory: { holds: (stats) => stats.isDirectory(), wanted: 'a directory' },
  DirectoryOrCreate: { holds: (stats) => stats.isDirectory(), wanted: 'a directory' },
  File: { holds: (stats) => stats.isFile(), wanted: 'a file' },
  FileOrCreate: { holds: (stats) => stats.isFile(), wanted: 'a file' },
  Socket: { holds: (stats) => stats.isSocket(), wanted: 'a socket file' },
  CharDevice: { holds: (stats) => stats.isCharacterDevice(), wanted: 'a character device' },
  BlockDevice: { holds: (stats) => stats.isBlockDevice(), wanted: 'a block device' },
}

/**
 * Checks that a hostPath volume is what its type says; the two `…OrCreate` types create it. Throws a VolumeError if it
 * is not.
 */
export function checkHostPath(file: string, type = ''): void {
  const check = CHECKS[type]
  if (!check) return
  create(file, type)
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats || !check.holds(stats)) throw new VolumeError(`hostPath type check failed: ${file} is not ${check.wanted}`)
}

/**
 * Returns where on this machine the node has a path. `/var/log` is the node's own, as nodes and their machine share
 * that of the machine.
 */
export function placeOnNode(file: string, nodeLogs: string): string {
  const wanted = path.resolve(file)
  return wanted === LOGS || wanted.startsWith(`${LOGS}/`) ? path.join(nodeLogs, wanted.slice(LOGS.length)) : file
}
const LOGS = '/var/log'

function create(file: string, type: string): void {
  if (statSync(file, { throwIfNoEntry: false })) return
  if (type === 'DirectoryOrCreate') mkdirSync(file, { recursive: true, mode: 0o755 })
  if (type === 'FileOrCreate' && statSync(path.dirname(file), { throwIfNoEntry: false })) {
    closeSync(openSync(file, 'a', 0o644))
  }
}
