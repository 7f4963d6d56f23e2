/** What tests of the library begin with. */
import type { Test } from 'tap'
import { type Cluster, type StartClusterOptions, startCluster } from '../../library/index.ts'
import type { ConfigMap } from '../../shared/api/types.ts'
import { createRestClient, type RestClientOptions } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { http2OfRun } from '../harness/http2-of-run.ts'

export const namespace = 'default'

export async function start(t: Test, options: StartClusterOptions = { apiOnly: true }): Promise<Cluster> {
  const cluster = await startCluster({ http2: http2OfRun, ...options })
  t.teardown(() => cluster.close())
  return cluster
}

/** As a program under test would: over the network. */
export function outside(t: Test, { access }: Cluster, options: Partial<RestClientOptions> = {}) {
  const client = createRestClient({ ...access, clock: realClock, ...options })
  t.teardown(() => client.close())
  return client
}

export const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  metadata: { name, namespace },
  data,
})
