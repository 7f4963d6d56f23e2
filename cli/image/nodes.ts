import type { KnownEntry } from '../../kubelet/runtime/images/image-entry.ts'
import type { ImageMeaning } from '../../kubelet/runtime/images/image-meaning.ts'
import type { Node } from '../../shared/api/types.ts'
import { nodes } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { adminAccess } from '../admin-access.ts'
import { askKubelet, type KubeletQuestion } from '../node/kubelet-request.ts'
import type { Found, RunningCluster } from '../running.ts'
import type { ImageSource } from './source.ts'

/** The images of a cluster that runs: what is asked is asked of its first node, what is changed is changed on all. */
export interface RunningImages extends ImageSource {
  change(question: KubeletQuestion): Promise<{ nodes: string[] }>
}

/** `only`: the name of the one node that is meant; all when empty. */
export async function imagesOf(found: Found & { running: RunningCluster }, only: string): Promise<RunningImages> {
  const access = adminAccess(found)
  const client = createRestClient({ ...access, clock: realClock, userAgent: 'kubestage' })
  const all = await client.list<Node>(nodes).finally(() => client.close())
  const meant = all.items.filter(({ metadata, status }) =>
    only ? metadata.name === only : status?.daemonEndpoints?.kubeletEndpoint?.Port,
  )
  const [first] = meant
  if (!first)
    throw new ConfigError(only ? `there is no node ${only}` : 'no node runs here, so no image stands for anything')
  const ask = async <Answer>(path: string): Promise<Answer> =>
    JSON.parse(await askKubelet(first, access, { method: 'GET', path })) as Answer
  return {
    entries: async () => (await ask<{ items: KnownEntry[] }>('/debug/images')).items,
    meaning: (image, command) => {
      const query = new URLSearchParams([['image', image], ...command.map((word) => ['command', word])])
      return ask<ImageMeaning>(`/debug/images?${query}`)
    },
    async change(question) {
      for (const node of meant) await askKubelet(node, access, question)
      return { nodes: meant.map(({ metadata }) => metadata.name ?? '') }
    },
  }
}
