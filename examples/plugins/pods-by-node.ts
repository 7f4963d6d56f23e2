import type { ClusterPlugin, Pod } from 'kubestage'

const pods = { group: '', version: 'v1', plural: 'pods' }

/** An endpoint beside the API: `GET /pods-by-node` counts the pods of each node, `?namespace=NAME` those of one namespace. */
const podsByNode: ClusterPlugin = async (app) => {
  app.get<{ Querystring: { namespace?: string } }>('/pods-by-node', async ({ query: { namespace } }) => {
    const { items } = await app.kubernetes.client.list<Pod>(pods, { namespace })
    const counts: Record<string, number> = {}
    for (const { spec } of items) {
      const node = spec.nodeName ?? '(none)'
      counts[node] = (counts[node] ?? 0) + 1
    }
    return counts
  })
}

export default podsByNode
