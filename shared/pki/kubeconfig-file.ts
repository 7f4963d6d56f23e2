import type { KeyPair } from './certificate.ts'
import { readIfExists, writePrivately } from './files.ts'

export interface KubeconfigOptions {
  /** Name of the context, the cluster and the user: unlike anybody else's, so that several files can be merged. */
  name: string
  server: string
  /** PEM. */
  ca: string
  user: KeyPair
}

interface Kubeconfig {
  'current-context'?: string
  clusters?: Named[]
  users?: Named[]
  contexts?: Named[]
  [other: string]: unknown
}
type Named = { name: string; context?: object; [entry: string]: unknown }

/** Writes our cluster, user and context; whatever else stands in the file (a chosen namespace, other clusters) stays. */
export async function writeKubeconfig(file: string, options: KubeconfigOptions): Promise<void> {
  const ours = kubeconfigText(options)
  const present = readIfExists(file)
  if (present === ours) return
  writePrivately(file, present === undefined ? ours : await merged(present, ours))
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

function kubeconfigText({ name, server, ca, user }: KubeconfigOptions): string {
  return `apiVersion: v1
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
}

async function merged(present: string, ours: string): Promise<string> {
  const { dump, load } = await import('js-yaml')
  const kept = parsed(() => load(present))
  if (!kept) return ours
  const fresh = load(ours) as Required<Kubeconfig>
  const theirContext = kept.contexts?.find(({ name }) => name === fresh.contexts[0]?.name)?.context
  const context = { ...fresh.contexts[0]!, context: { ...theirContext, ...fresh.contexts[0]?.context } }
  return dump({
    ...fresh,
    ...kept,
    clusters: upsert(kept.clusters, fresh.clusters[0]!),
    users: upsert(kept.users, fresh.users[0]!),
    contexts: upsert(kept.contexts, context),
  })
}

/** `undefined` for what is no kubeconfig: there is nothing in it to keep. */
function parsed(load: () => unknown): Kubeconfig | undefined {
  try {
    const value = load()
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Kubeconfig) : undefined
  } catch {
    return undefined
  }
}

function upsert(entries: Named[] | undefined, entry: Named): Named[] {
  const others = (entries ?? []).filter(({ name }) => name !== entry.name)
  return [...others, entry]
}
