import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort, whyNotListening } from '../../cluster/free-port.ts'
import { packageRoot } from '../../cluster/package.ts'
import { examplePort } from './example-port.ts'

export const manifestFile = 'examples/graceful-delete/pod.yaml'

/** The example as YAML; its server listens on another port where a program of this machine has the usual one. */
export async function exampleManifest(): Promise<string> {
  const text = await readFile(join(packageRoot, manifestFile), 'utf8')
  const everywhere = '0.0.0.0'
  if ((await whyNotListening(everywhere, examplePort)) === undefined) return text
  return text.replaceAll(`${examplePort}`, `${await freePort(everywhere)}`)
}
