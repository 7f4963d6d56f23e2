import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const modules = join(import.meta.dirname, '..', 'toolchains', 'node_modules')

/** Nodes that users have beside ours, by name: `node-22`. None where `npm ci --ignore-scripts --prefix test/toolchains` was not run. */
export function otherNodes(): Map<string, string> {
  const names = existsSync(modules) ? readdirSync(modules).filter((name) => /^node-\d+$/.test(name)) : []
  return new Map(names.sort().map((name) => [name, join(modules, name, 'bin', 'node')]))
}

/** The folder of a package that users have beside ours; undefined where it is not installed. */
export function toolchain(name: string): string | undefined {
  const folder = join(modules, name)
  return existsSync(folder) ? folder : undefined
}

/**
 * A folder for the beginning of PATH in which `node`, `npm` and `npx` are the ones named; undefined where there are no such ones.
 * `node` is a file, `npm` a name like `npm-12`.
 */
export function pathOf(folder: string, { node, npm }: { node: string; npm: string }): string | undefined {
  const commands = join(modules, npm, 'bin')
  if (!existsSync(commands)) return undefined
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  symlinkSync(node, join(folder, 'node'))
  for (const name of ['npm', 'npx']) symlinkSync(join(commands, `${name}-cli.js`), join(folder, name))
  return folder
}
