import { existsSync, readFileSync } from 'node:fs'
import { credentialsFor, readKeyring } from '../../kubelet/images/registry/credentials.ts'
import type { Credentials } from '../../kubelet/runtime/container-runtime.ts'
import type { ImageName } from '../../kubelet/runtime/images/image-name.ts'
import { askCredentialHelper } from './credential-helper.ts'

/** Docker's name of its own registry, where passwords are concerned. */
const dockerHub = 'https://index.docker.io/v1/'

/**
 * Returns the credentials that Docker's `config.json` has for an image: those of a program that keeps passwords
 * (`credHelpers`, `credsStore`) first, then those in the file. `warn` is told of a program that does not answer.
 */
export async function dockerCredentials(
  file: string,
  image: ImageName,
  warn: (message: string) => void,
): Promise<Credentials[]> {
  if (!existsSync(file)) return []
  const text = readFileSync(file, 'utf8')
  const own = credentialsFor(readKeyring(text), image)
  const server = image.domain === 'docker.io' ? dockerHub : image.domain
  const helper = helperFor(text, server)
  if (helper === undefined) return own
  try {
    const found = await askCredentialHelper(helper, server)
    return found ? [found, ...own] : own
  } catch (error) {
    warn(`${file}: ${(error as Error).message}; the registry is asked without it`)
    return own
  }
}

function helperFor(text: string, server: string): string | undefined {
  try {
    const { credHelpers, credsStore } = JSON.parse(text) as Record<string, unknown>
    const helpers = typeof credHelpers === 'object' && credHelpers ? (credHelpers as Record<string, unknown>) : {}
    const names = [server === dockerHub ? 'docker.io' : server, server].map((name) =>
      Object.hasOwn(helpers, name) ? helpers[name] : undefined,
    )
    return [...names, credsStore].find((name): name is string => typeof name === 'string' && name !== '')
  } catch {
    return undefined // no JSON
  }
}
