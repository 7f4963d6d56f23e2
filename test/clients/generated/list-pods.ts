/** Lists pods by the client that was generated beside this file: `client/`. Compiled in strict mode, then run. */
import { createClient, createConfig } from './client/client'
import { createCoreV1NamespacedPod, listCoreV1NamespacedPod } from './client/sdk.gen'
import type { IoK8sApiCoreV1PodList } from './client/types.gen'

declare const process: { argv: string[]; stdout: { write(text: string): void } }
const [, , baseUrl = '', token = ''] = process.argv
const client = createClient(createConfig({ baseUrl, headers: { authorization: `Bearer ${token}` } }))
const path = { namespace: 'default' }

const created = await createCoreV1NamespacedPod({
  client,
  path,
  // The documents say `*/*`, as a real server's do, and both refuse that as a body's type.
  headers: { 'Content-Type': 'application/json' },
  body: { metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  throwOnError: true,
})
const list = await listCoreV1NamespacedPod({ client, path, query: { limit: 5 }, throwOnError: true })
const pods: IoK8sApiCoreV1PodList = list.data
const names: (string | undefined)[] = pods.items.map((pod) => pod.metadata?.name)
process.stdout.write(`${created.data.metadata?.uid === pods.items[0]?.metadata?.uid} ${pods.kind} ${names.join()}\n`)
