import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { type Entry, file, folder, savedEntries, sha256, symlink, tarOf } from '../harness/image-archives.ts'
import { DebianPackages } from './debian-packages.ts'

/** Says what is in an image: layers of Debian packages, files upon them, and the configuration of its containers. */
export interface Recipe {
  name: string
  /** Each list is a layer, below a first one with a shell and its tools. */
  packages: readonly (readonly string[])[]
  /** Users beside root, www-data and nobody, with their number, which is that of their group as well. */
  users?: Readonly<Record<string, number>>
  entries?: readonly Entry[]
  config: object
}

const basic = ['bash', 'coreutils', 'dash', 'findutils', 'grep', 'hostname', 'libc-bin', 'mawk', 'sed', 'util-linux']
const merged = ['bin', 'lib', 'lib64', 'sbin']
const unneeded = ['doc', 'info', 'locale', 'man', 'lintian'].map((name) => `./usr/share/${name}`)
/** Packages that only the scripts of others use, which do not run here. */
const forScripts = /^(adduser|debconf|dpkg|init-system-helpers|libperl5\.\d+|passwd|perl.*|tar|ucf)_/
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'kubestage-test-images')
let packages: DebianPackages | undefined

/** Makes the archive of an image as `docker save` writes it, or takes the one of an earlier run, and returns its name. */
export async function debianImage(recipe: Recipe): Promise<string> {
  const place = join(cache, 'images', `${sha256(JSON.stringify([basic, String(forScripts), recipe]))}.tar`)
  if (existsSync(place)) return place
  packages ??= new DebianPackages(join(cache, 'packages'))
  const layers: Buffer[] = []
  let below: string[] = []
  for (const [index] of [basic, ...recipe.packages].entries()) {
    const names = [basic, ...recipe.packages].slice(0, index + 1).flat()
    const files = await packages.get(names)
    layers.push(packageLayer(files.filter((one) => !below.includes(one) && !forScripts.test(basename(one)))))
    below = files
  }
  layers.push(await tarOf([...system(recipe.users), ...(recipe.entries ?? [])]))
  keep(place, await tarOf(savedEntries({ name: recipe.name, layers, config: recipe.config })))
  return place
}

/** What the scripts of packages make when they are installed. */
function system(users: Recipe['users'] = {}): Entry[] {
  const all = Object.entries({ root: 0, ...users, 'www-data': 33, nobody: 65534 })
  const row = ([name, id]: [string, number]) =>
    `${name}:x:${id}:${id}::${id ? '/nonexistent' : '/root'}:${id ? '/usr/sbin/nologin' : '/bin/bash'}\n`
  return [
    folder('etc'),
    file('etc/passwd', all.map(row).join('')),
    file('etc/group', all.map(([name, id]) => `${name}:x:${id}:\n`).join('')),
    folder('tmp', { mode: 0o1777 }),
    folder('run'),
    folder('var'),
    symlink('var/run', '/run'),
    folder('root', { mode: 0o700 }),
  ]
}

/** An archive of the files of packages, with /bin as a link to /usr/bin as Debian has it. */
function packageLayer(packages: readonly string[]): Buffer {
  const place = join(cache, 'layers', `${sha256(packages.join('\n'))}.tar`)
  if (existsSync(place)) return readFileSync(place)
  mkdirSync(cache, { recursive: true })
  const root = mkdtempSync(join(cache, 'root-'))
  try {
    for (const name of merged) {
      mkdirSync(join(root, 'usr', name), { recursive: true })
      symlinkSync(`usr/${name}`, join(root, name))
    }
    for (const name of packages) {
      const input = execFileSync('dpkg-deb', ['--fsys-tarfile', name], { maxBuffer: 1 << 29 })
      const options = ['--keep-directory-symlink', '--no-same-owner', ...unneeded.map((path) => `--exclude=${path}/*`)]
      execFileSync('tar', ['-x', '-C', root, ...options], { input })
    }
    const owners = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name']
    keep(place, execFileSync('tar', ['-c', '-C', root, ...owners, '.'], { maxBuffer: 1 << 30 }))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
  return readFileSync(place)
}

function keep(place: string, bytes: Buffer): void {
  mkdirSync(join(place, '..'), { recursive: true })
  const unfinished = `${place}.${process.pid}`
  writeFileSync(unfinished, bytes)
  renameSync(unfinished, place)
}
