import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** From package.json, which lies one folder above the sources and two above what is built. */
export const version: string =
  readVersion(join(import.meta.dirname, '..')) ?? readVersion(join(import.meta.dirname, '..', '..')) ?? 'unknown'

function readVersion(directory: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { version: string }).version
  } catch {
    return undefined
  }
}
