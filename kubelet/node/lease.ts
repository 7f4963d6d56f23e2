import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Lease, Node } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { leases, nodes } from '../../shared/client/resources.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { toMicroTime } from '../../shared/clock/timestamp.ts'

export interface LeaseOptions {
  client: Client
  clock: Clock
  nodeName: string
  onError(error: unknown): void
}

const NAMESPACE = 'kube-node-lease'
const DURATION_SECONDS = 40
const RENEW_MS = DURATION_SECONDS * 250
const RETRY_MS = 1_000

/** Renews the node's Lease, which shows that the node is alive. Returns a function that stops the renewal. */
export function startLease({ client, clock, nodeName, onError }: LeaseOptions): () => void {
  let timer: Timer | undefined
  let stopped = false
  const ref = { namespace: NAMESPACE, name: nodeName }

  async function renew(): Promise<void> {
    const renewTime = toMicroTime(clock.now())
    try {
      await client.patch(leases, ref, { spec: { renewTime, holderIdentity: nodeName } }, { type: 'merge' })
    } catch (error) {
      if (!isStatus(error, 'NotFound')) throw error
      await create(renewTime)
    }
  }

  async function create(renewTime: string): Promise<void> {
    const node = await client.get<Node>(nodes, { name: nodeName })
    const lease: Lease = {
      metadata: {
        ...ref,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: node.metadata.uid ?? '' }],
      },
      spec: { holderIdentity: nodeName, leaseDurationSeconds: DURATION_SECONDS, renewTime },
    }
    await client.create<Lease>(leases, lease, { namespace: NAMESPACE })
  }

  async function round(): Promise<void> {
    let nextMs = RENEW_MS
    try {
      await renew()
    } catch (error) {
      onError(error)
      nextMs = RETRY_MS
    }
    if (!stopped) timer = clock.setTimer(nextMs, () => void round(), { background: true })
  }

  void round()
  return () => {
    stopped = true
    timer?.cancel()
  }
}
