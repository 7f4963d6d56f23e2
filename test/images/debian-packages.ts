import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Why this machine cannot make images of Debian packages; undefined if it can. */
export function noDebian(): string | undefined {
  for (const program of ['apt-get', 'dpkg-deb', 'tar'])
    if (spawnSync(program, ['--version']).error) return `images are made of Debian packages, and there is no ${program}`
  return undefined
}

/** Downloads Debian packages with all that they depend on, as on a machine where none is installed. */
export class DebianPackages {
  private readonly folder: string
  private readonly options: string[]
  private readonly found = new Map<string, Promise<string[]>>()

  /** Keeps packages in this folder. */
  constructor(folder: string) {
    this.folder = folder
    mkdirSync(join(folder, 'partial'), { recursive: true })
    const installed = join(folder, 'installed')
    writeFileSync(installed, '')
    const settings = [
      `Dir::State::status=${installed}`,
      'Debug::NoLocking=1',
      `Dir::Cache=${folder}`,
      'APT::Sandbox::User=',
    ]
    this.options = ['-qq', '-y', '--no-install-recommends', ...settings.flatMap((setting) => ['-o', setting])]
  }

  /** The files of these packages and of those that they need. */
  get(names: readonly string[]): Promise<string[]> {
    const key = names.join(' ')
    const found = this.found.get(key) ?? this.find(names)
    this.found.set(key, found)
    return found
  }

  private async find(names: readonly string[]): Promise<string[]> {
    try {
      return await this.download(names)
    } catch {
      await run('apt-get', ['update', '-qq']) // the lists of packages are old, or were never there
      return this.download(names)
    }
  }

  private async download(names: readonly string[]): Promise<string[]> {
    // apt prints what is to be downloaded to an empty folder: everything.
    const { stdout } = await this.apt(
      ['--print-uris', '-o', `Dir::Cache::archives=${join(this.folder, 'none')}`],
      names,
    )
    const files = [...stdout.matchAll(/^'\S+' (\S+\.deb) /gm)].map(([, name = '']) => join(this.folder, name))
    if (files.length === 0) throw new Error(`apt-get finds no packages for ${names.join(' ')}`)
    if (!files.every((file) => existsSync(file)))
      await this.apt(['--download-only', '-o', `Dir::Cache::archives=${this.folder}`], names)
    return files
  }

  private readonly apt = (options: string[], names: readonly string[]) =>
    run('apt-get', ['install', ...this.options, ...options, ...names], { maxBuffer: 1 << 24 })
}
