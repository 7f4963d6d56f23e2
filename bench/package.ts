import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

const repository = join(import.meta.dirname, '..')
let folder: string | undefined

/**
 * The folder of the package as npm would install it, built from the sources as they are now; goes when this process
 * ends.
 */
export function builtPackage(): string {
  folder ??= packageIn(repository)
  return folder
}

/** Names a commit as people do: its hash, time and subject. */
export const titleOf = (commit: string): string =>
  execFileSync('git', ['log', '-1', '--format=%h (%ci, %s)', commit], { cwd: repository, encoding: 'utf8' }).trim()

/** The folder of the package as it was at `commit`, built with the npm packages that its lock file names. */
export const packageOf = (commit: string): string => packageIn(checkoutOf(commit))

/** The folder with the sources of a commit, and npm packages; goes when this process ends. */
export function checkoutOf(commit: string): string {
  const checkout = temporary('kubestage-checkout-')
  const archive = execFileSync('git', ['archive', commit], { cwd: repository, maxBuffer: 1e9 })
  execFileSync('tar', ['-x'], { cwd: checkout, input: archive })
  const [ours, theirs] = [repository, checkout].map((folder) => readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  const packages = ours === theirs ? join(repository, 'node_modules') : installedFor(checkout, theirs!)
  symlinkSync(packages, join(checkout, 'node_modules'))
  return checkout
}

/**
 * The npm packages of another lock file, which are installed once, in the user's cache: the build takes the name of a
 * package from what stands behind `node_modules`.
 */
function installedFor(checkout: string, lock: string): string {
  const name = createHash('sha256').update(lock).digest('hex').slice(0, 16)
  const kept = join(homedir(), '.cache', 'kubestage', 'bench', name)
  if (!existsSync(kept)) {
    process.stdout.write('Its lock file is another one: npm ci installs its packages.\n')
    const made = `${kept}.${process.pid}`
    for (const file of ['package.json', 'package-lock.json', 'bin/node'])
      cpSync(join(checkout, file), join(made, file), { recursive: true })
    execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: made, stdio: ['ignore', 'ignore', 'inherit'] })
    renameSync(made, kept)
  }
  return join(kept, 'node_modules')
}

const folders: string[] = []

function temporary(prefix: string): string {
  const made = mkdtempSync(join(tmpdir(), prefix))
  if (folders.length === 0)
    process.on('exit', () => {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    })
  folders.push(made)
  return made
}

/** The folder of the package that is built of these sources; goes when this process ends. */
export function packageIn(sources: string): string {
  const made = temporary('kubestage-package-')
  // The command of the commit's own package.json: its file had another name once.
  execFileSync('npm', ['run', '--silent', 'build', '--', join(made, 'dist')], {
    cwd: sources,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (const shipped of ['bin', 'package.json'])
    cpSync(join(sources, shipped), join(made, shipped), { recursive: true })
  // Not as `node_modules`, beside which its compiled code would be kept.
  symlinkSync(join(sources, 'node_modules'), join(made, 'dist', 'node_modules'))
  return made
}
