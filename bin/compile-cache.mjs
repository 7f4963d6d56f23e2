import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

const { accessSync, constants } = process.getBuiltinModule?.('node:fs') ?? (await import('node:fs'))

/**
 * Lets this process and its children keep their compiled code, which halves the next start: beside the package,
 * or, where that belongs to another user, in the user's own cache.
 */
export function useCompileCache(root) {
  process.env.NODE_COMPILE_CACHE ??= mayWrite(root)
    ? join(root, 'node_modules', '.cache', 'kubestage')
    : join(homedir(), '.cache', 'kubestage', 'compiled')
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
}

function mayWrite(folder) {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
