import { existsSync, realpathSync, statSync } from 'node:fs'
import type { MountPoint } from './mount-points.ts'

/**
 * Names the parts of the machine's file system that no container sees: keys, databases, other pods' volumes. All paths
 * are absolute.
 */
export interface Hidden {
  folders: string[]
  files: string[]
}

/** Returns the paths that exist, at every place where they are mounted. A path within another one is left out. */
export function hiddenPlaces(paths: readonly string[], mounts: readonly MountPoint[]): Hidden {
  const real = paths.filter((path) => existsSync(path)).map((path) => realpathSync.native(path))
  const all = [...new Set(real.flatMap((path) => placesOf(path, mounts)))].sort()
  const outermost = all.filter((path) => !all.some((other) => isBelow(path, other)))
  const found = outermost.map((path) => ({ path, isFolder: statSync(path, { throwIfNoEntry: false })?.isDirectory() }))
  const places = (wanted: boolean) => found.filter(({ isFolder }) => isFolder === wanted).map(({ path }) => path)
  return { folders: places(true), files: places(false) }
}

/** Where the machine has the same file: a file system, or a part of one, may be mounted at several places. */
export function placesOf(path: string, mounts: readonly MountPoint[]): string[] {
  const own = mounts.findLast((mount) => path === mount.place || isBelow(path, mount.place))
  if (!own) return [path]
  const within = joined(own.root, path.slice(own.place === '/' ? 0 : own.place.length))
  const others = mounts
    .filter(({ device, root }) => device === own.device && (within === root || isBelow(within, root)))
    .map(({ place, root }) => joined(place, within.slice(root === '/' ? 0 : root.length)))
  return [...new Set([path, ...others])]
}

export const isBelow = (path: string, folder: string): boolean =>
  path.startsWith(folder === '/' ? '/' : `${folder}/`) && path !== folder

const joined = (folder: string, rest: string): string => (folder === '/' ? rest || '/' : folder + rest)
