import { spawn } from 'node:child_process'
import { buffer } from 'node:stream/consumers'

/** A folder as an archive, by the machine's own tar: what it writes, images of others have as well. */
export const archiveOf = (folder: string): Promise<Buffer> => {
  const tar = spawn('tar', ['--numeric-owner', '-C', folder, '-cf', '-', '.'], { stdio: ['ignore', 'pipe', 'inherit'] })
  return buffer(tar.stdout)
}
