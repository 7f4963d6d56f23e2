import { dirname, resolve } from 'node:path'
import { readInputText } from '../config/input.ts'
import type { ClusterAccess } from './rest-client.ts'

interface Kubeconfig {
  'current-context'?: string
  clusters?: { name: string; cluster: ClusterEntry }[]
  users?: { name: string; user: UserEntry }[]
  contexts?: { name: string; context: { cluster: string; user: string; namespace?: string } }[]
}
interface ClusterEntry {
  server?: string
  'certificate-authority-data'?: string
  'certificate-authority'?: string
  'insecure-skip-tls-verify'?: boolean
  'tls-server-name'?: string
}
interface UserEntry {
  'client-certificate-data'?: string
  'client-certificate'?: string
  'client-key-data'?: string
  'client-key'?: string
  token?: string
  tokenFile?: string
}

/** Reads what a client needs from a kubeconfig's current context. File names are relative to the kubeconfig. */
export async function loadKubeconfig(file: string): Promise<ClusterAccess> {
  const config = await parse(readInputText(file))
  const context = pick(config.contexts, config['current-context'], `${file}: context`).context
  const cluster = pick(config.clusters, context.cluster, `${file}: cluster`).cluster
  const user = pick(config.users, context.user, `${file}: user`).user
  if (!cluster.server) throw new Error(`${file}: cluster "${context.cluster}" has no server`)
  const text = (inline: string | undefined, path: string | undefined): Promise<string | undefined> =>
    readPem(dirname(file), inline, path)
  const [ca, cert, key, token] = await Promise.all([
    text(cluster['certificate-authority-data'], cluster['certificate-authority']),
    text(user['client-certificate-data'], user['client-certificate']),
    text(user['client-key-data'], user['client-key']),
    user.token ?? text(undefined, user.tokenFile),
  ])
  return {
    server: cluster.server,
    ca,
    cert,
    key,
    token: token?.trim(),
    tlsServerName: cluster['tls-server-name'],
    insecureSkipTlsVerify: cluster['insecure-skip-tls-verify'],
  }
}

/** JSON is YAML too, and needs no parser of 10 ms and 3 MB. */
async function parse(text: string): Promise<Kubeconfig> {
  if (text.trimStart().startsWith('{')) return JSON.parse(text) as Kubeconfig
  const { load } = await import('js-yaml')
  return (load(text) ?? {}) as Kubeconfig
}

function pick<T extends { name: string }>(entries: T[] | undefined, name: string | undefined, what: string): T {
  const entry = entries?.find((candidate) => candidate.name === name)
  if (!entry) throw new Error(name ? `${what} "${name}" does not exist` : `${what}: no current-context`)
  return entry
}

async function readPem(
  folder: string,
  inline: string | undefined,
  path: string | undefined,
): Promise<string | undefined> {
  if (inline) return Buffer.from(inline, 'base64').toString('utf8')
  return path ? readInputText(resolve(folder, path)) : undefined
}
