import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Attribute } from './attributes.ts'

/** `lsetxattr` of asm/unistd_64.h and asm-generic/unistd.h; Node has no such call. */
const calls: Partial<Record<NodeJS.Architecture, number>> = { x64: 189, arm64: 6 }

/**
 * Sets attributes of files, by path. What the kernel refuses to this user, or the file system does not have, is left
 * out.
 */
export function setAttributes(files: readonly (readonly [path: string, attributes: readonly Attribute[]])[]): void {
  const call = process.platform === 'linux' ? calls[process.arch] : undefined
  if (files.length === 0 || call === undefined) return
  const hex = (text: string | Buffer): string => Buffer.from(text).toString('hex')
  const lines = files.flatMap(([path, attributes]) =>
    attributes.map(({ name, value }) => `${hex(path)} ${hex(name)} ${hex(value)}\n`),
  )
  const script = join(import.meta.dirname, 'set-attributes.pl')
  const { status, stderr } = spawnSync('perl', [script, String(call)], { input: lines.join(''), encoding: 'utf8' })
  if (status === 1) throw new Error(stderr.trim())
}
