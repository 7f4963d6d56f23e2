import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const repository = join(import.meta.dirname, '..')
let folder: string | undefined

/**
 * The folder of the package as npm would install it, built from the sources as they are now; goes when this process
 * ends.
 */
export function builtPackage(): string {
  folder ??= build(repository)
  return folder
}

/** The folder of the package as it was at `commit`, built with the npm packages that its lock file names. */
export function packageOf(commit: string): string {
  const checkout = temporary('kubestage-checkout-')
  const archive = execFileSync('git', ['archive', commit], { cwd: repository, maxBuffer: 1e9 })
  execFileSync('tar', ['-x'], { cwd: checkout, input: archive })
  const locks = [repository, checkout].map((folder) => readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  if (locks[0] === locks[1]) symlinkSync(join(repository, 'node_modules'), join(checkout, 'node_modules'))
  else execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: checkout, stdio: ['ignore', 'ignore', 'inherit'] })
  return build(checkout)
}

function temporary(prefix: string): string {
  const made = mkdtempSync(join(tmpdir(), prefix))
  process.on('exit', () => rmSync(made, { recursive: true, force: true }))
  return made
}

function build(sources: string): string {
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
