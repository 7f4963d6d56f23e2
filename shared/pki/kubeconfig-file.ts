import { isMap } from '../api/json/json-map.ts'
import type { KeyPair } from './certificate.ts'
import { readIfExists, setAside, writePrivately } from './files.ts'

export interface KubeconfigOptions {
  /** Name of the context, the cluster and the user: unique, so that several files can be merged. */
  name: string
  server: string
  /** Holds the certificate in PEM. */
  ca: string
  user: KeyPair
}

export interface Kubeconfig {
  'current-context': string
  clusters: Named[]
  users: Named[]
  contexts: Named[]
  [other: string]: unknown
}
type Named = { name: string; context?: object; [entry: string]: unknown }

export function kubeconfig({ name, server, ca, user }: KubeconfigOptions): Kubeconfig {
  const cluster = { server, 'certificate-authority-data': base64(ca) }
  const credentials = { 'client-certificate-data': base64(user.cert), 'client-key-data': base64(user.key) }
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster }],
    users: [{ name, user: credentials }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  }
}

/**
 * Writes our cluster, user and context; whatever else stands in the file (a chosen namespace, other clusters) stays. A
 * damaged file gets another name: resolves to a sentence that says so.
 */
export async function writeKubeconfig(file: string, options: KubeconfigOptions): Promise<string | undefined> {
  const present = readIfExists(file)
  const merged = present && (await mergedText(present, kubeconfig(options)))
  const kept = present && !merged ? setAside(file) : undefined
  writePrivately(file, merged || yaml(options))
  return kept && `${file} was damaged and has been written again; the damaged file is kept as ${kept}`
}

/**
 * `kubeconfig` as a person would write it. Its texts need no quotes, and a library for them would take longer than all
 * certificates.
 */
const yaml = ({ name, server, ca, user }: KubeconfigOptions): string => `apiVersion: v1
kind: Config
current-context: ${name}
clusters:
  - name: ${name}
    cluster:
      server: ${server}
      certificate-authority-data: ${base64(ca)}
users:
  - name: ${name}
    user:
      client-certificate-data: ${base64(user.cert)}
      client-key-data: ${base64(user.key)}
contexts:
  - name: ${name}
    context:
      cluster: ${name}
      user: ${name}
`

/** Resolves to undefined for what is no kubeconfig. */
async function mergedText(present: string, ours: Kubeconfig): Promise<string | undefined> {
  const { dump, load } = await import('js-yaml')
  const theirs = parsed(() => load(present))
  return theirs && dump(merged(theirs, ours), { lineWidth: -1 })
}

function merged(theirs: Partial<Kubeconfig>, ours: Kubeconfig): Kubeconfig {
  const [cluster, user, context] = [ours.clusters[0]!, ours.users[0]!, ours.contexts[0]!]
  const known = theirs.contexts?.find(({ name }) => name === context.name)
  return {
    ...ours,
    ...theirs,
    clusters: upsert(theirs.clusters, cluster),
    users: upsert(theirs.users, user),
    contexts: upsert(theirs.contexts, { ...context, context: { ...known?.context, ...context.context } }),
  }
}

function parsed(load: () => unknown): Partial<Kubeconfig> | undefined {
  try {
    const value = load()
    return isMap(value) && lists.every((name) => areNamed(value[name])) ? value : undefined
  } catch {
    return undefined
  }
}

const lists = ['clusters', 'users', 'contexts'] as const

const areNamed = (entries: unknown): boolean =>
  entries === undefined ||
  entries === null ||
  (Array.isArray(entries) && entries.every((entry) => isMap(entry) && typeof entry.name === 'string'))

function upsert(entries: Named[] | undefined, entry: Named): Named[] {
  return [...(entries ?? []).filter(({ name }) => name !== entry.name), entry]
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')
