import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const program = '/bin/busybox'
const names = [
  'sh',
  'cat',
  'echo',
  'env',
  'hostname',
  'id',
  'ls',
  'mkdir',
  'ps',
  'pwd',
  'readlink',
  'sleep',
  'touch',
  'wc',
]

/** Why {@link busyboxRoot} makes none. */
export const noBusybox = 'needs a static busybox: Debian has the package busybox-static'

/** Makes a folder with the files of a small image: a program, its names as absolute links, and users. False without busybox. */
export function busyboxRoot(folder: string): boolean {
  if (!existsSync(program) || !isStatic()) return false
  for (const name of ['bin', 'etc', 'usr/sbin', 'var', 'run', 'tmp', 'srv/data'])
    mkdirSync(join(folder, name), { recursive: true })
  copyFileSync(program, join(folder, 'bin/busybox'))
  chmodSync(join(folder, 'bin/busybox'), 0o755)
  for (const name of names) symlinkSync('/bin/busybox', join(folder, 'bin', name))
  symlinkSync('/run', join(folder, 'var/run'))
  writeFileSync(join(folder, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nweb:x:4711:4712::/srv:/bin/sh\n')
  writeFileSync(join(folder, 'etc/group'), 'root:x:0:\nweb:x:4712:\nextra:x:4713:web\n')
  writeFileSync(join(folder, 'etc/os-release'), 'ID=small\n')
  writeFileSync(join(folder, 'srv/data/shipped'), 'with the image\n')
  return true
}

const isStatic = (): boolean => spawnSync('ldd', [program]).status !== 0
