import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const repository = join(import.meta.dirname, '..')
let folder: string | undefined

/**
 * The folder of the package as npm would install it, built from the sources as they are now; goes when this process
 * ends.
 */
export function builtPackage(): string {
  folder ??= build()
  return folder
}

function build(): string {
  const made = mkdtempSync(join(tmpdir(), 'kubestage-package-'))
  process.on('exit', () => rmSync(made, { recursive: true, force: true }))
  execFileSync(process.execPath, [join(repository, 'scripts/build/main.ts'), join(made, 'dist')], {
    cwd: repository,
    env: { ...process.env, PATH: `${join(repository, 'node_modules/.bin')}:${process.env.PATH}` },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (const shipped of ['bin', 'package.json'])
    cpSync(join(repository, shipped), join(made, shipped), { recursive: true })
  // Not as `node_modules`, beside which its compiled code would be kept.
  symlinkSync(join(repository, 'node_modules'), join(made, 'dist', 'node_modules'))
  return made
}
