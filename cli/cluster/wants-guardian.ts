import { resolveOptions, type Sources } from '../../shared/config/resolve.ts'
import { upOptions } from './up-options.ts'

/**
 * Resolves to whether `kubestage up` with these flags and variables runs a cluster in the foreground whose objects
 * outlive its API server. If one of them is wrong, the answer is no: the command itself says what is wrong.
 */
export async function runsDurably(sources: Sources): Promise<boolean> {
  try {
    const { values, help } = await resolveOptions(upOptions, sources)
    return !help && !values.detach && values.storage.engine !== 'memory'
  } catch {
    return false
  }
}
