export interface MountPoint {
  /** Holds the device of its file system: major and minor number. */
  device: string
  /** The part of the file system that is mounted. */
  root: string
  place: string
}

/** The kernel's list (`/proc/self/mountinfo`), in its order: later ones cover earlier ones. */
export const mounts = (mountinfo: string): MountPoint[] =>
  mountinfo
    .split('\n')
    .map((line) => line.split(' '))
    .map(([, , device = '', root = '', place = '']) => ({ device, root: unescaped(root), place: unescaped(place) }))
    .filter(({ place }) => place.startsWith('/'))

export const mountPoints = (mountinfo: string): string[] => mounts(mountinfo).map(({ place }) => place)

const unescaped = (path: string): string =>
  path.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
