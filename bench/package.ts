import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
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
  symlinkSync(
    ours === theirs ? join(repository, 'node_modules') : installed(checkout, theirs!),
    join(checkout, 'node_modules'),
  )
  return checkout
}

/** The npm packages of another lock file, which are installed once. */
function installed(checkout: string, lock: string): string {
  const name = createHash('sha256').update(lock).digest('hex').slice(0, 16)
  const kept = join(repository, 'node_modules', '.cache', 'bench-packages', name)
  if (existsSync(kept)) return kept
  process.stdout.write('Its lock file differs: npm ci installs its packages.\n')
  execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: checkout, stdio: ['ignore', 'ignore', 'inherit'] })
  cpSync(join(checkout, 'node_modules'), kept, { recursive: true, verbatimSymlinks: true })
  rmSync(join(checkout, 'node_modules'), { recursive: true })
  return kept
}

function temporary(prefix: string): string {
  const made = mkdtempSync(join(tmpdir(), prefix))
  process.on('exit', () => rmSync(made, { recursive: true, force: true }))
  return made
}

/** The folder of the package that is built of these sources; goes when this process ends. */
export function packageIn(sources: string): string {
  const made = temporary('kubestage-package-')
  execFileSync(process.execPath, [join(sources, 'scripts/build/main.ts'), join(made, 'dist')], {
    cwd: sources,
    env: { ...process.env, PATH: `${join(sources, 'node_modules/.bin')}:${process.env.PATH}` },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (const shipped of ['bin', 'package.json'])
    cpSync(join(sources, shipped), join(made, shipped), { recursive: true })
  // Not as `node_modules`, beside which its compiled code would be kept.
  symlinkSync(join(sources, 'node_modules'), join(made, 'dist', 'node_modules'))
  return made
}
