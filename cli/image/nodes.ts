import { text } from 'node:stream/consumers'
import type { KnownEntry } from '../../kubelet/runtime/images/image-entry.ts'
import type { ImageMeaning } from '../../kubelet/runtime/images/image-meaning.ts'
import type { KubeList, Node } from '../../shared/api/types.ts'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { askKubelet, openAnswer, type Question } from '../access/ask-server.ts'
import { type ImageOrigins, type ImageSource, shownEntry, shownMeaning } from '../access/image-source.ts'
import { withProgress } from '../terminal/progress.ts'

/** The images of a cluster that runs: what is asked is asked of its first node, what is changed is changed on all. */
export interface RunningImages extends ImageSource {
  change(question: Question): Promise<{ nodes: string[] }>
}

/**
 * `only`: the name of the one node that is meant; all when empty. `origins`: of what the cluster was started with,
 * where that is known.
 */
export async function imagesOf(
  access: ClusterAccess,
  { only, origins }: { only: string; origins: ImageOrigins | undefined },
): Promise<RunningImages> {
  const meant = await nodesOf(access, only)
  const ask = async <Answer>(path: string): Promise<Answer> =>
    JSON.parse(await withProgress('Asking the kubelet', askKubelet(access, meant[0] ?? '', { path }))) as Answer
  return {
    async entries() {
      const { items } = await ask<{ items: KnownEntry[] }>('/debug/images')
      return items.map((entry) => shownEntry(entry, origins))
    },
    async meaning(image, { command = [], args = [], workingDir = '' }) {
      const query = new URLSearchParams({ image, ...(workingDir && { workingDir }) })
      for (const word of command) query.append('command', word)
      for (const word of args) query.append('arg', word)
      return shownMeaning(await ask<ImageMeaning>(`/debug/images?${query}`), origins)
    },
    async change(question) {
      for (const name of meant) await withProgress(`Telling ${name}`, askKubelet(access, name, question))
      return { nodes: meant }
    },
  }
}

/** Names of those with a kubelet that can be asked; simulated ones run no programs. */
async function nodesOf(access: ClusterAccess, only: string): Promise<string[]> {
  const { items } = JSON.parse(await text(await openAnswer(access, { path: '/api/v1/nodes' }))) as KubeList<Node>
  const names = items
    .filter(({ metadata, status }) => (only ? metadata.name === only : runsPrograms(status)))
    .map(({ metadata }) => metadata.name ?? '')
  if (names.length > 0) return names
  throw new ConfigError(
    only ? `node "${only}" not found` : 'no node runs here: images belong to the nodes of a running cluster',
  )
}

function runsPrograms(status: Node['status']): boolean {
  const isSimulated = status?.nodeInfo?.containerRuntimeVersion?.startsWith('simulated:')
  return Boolean(status?.daemonEndpoints?.kubeletEndpoint?.Port) && !isSimulated
}
