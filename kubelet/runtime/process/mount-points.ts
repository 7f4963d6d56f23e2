export interface MountPoint {
  /** Of its file system: major and minor number. */
  device: string
  /** What of the file system is mounted. */
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
