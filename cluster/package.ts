import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where package.json lies: one folder above the sources, two above what is built. */
export const packageRoot = [join(import.meta.dirname, '..'), join(import.meta.dirname, '..', '..')].find((folder) =>
  existsSync(join(folder, 'package.json')),
)!

export const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
