import { SERVICE_LABEL } from '../../shared/api/services/endpoint-slices.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { keyPrefix } from './keys.ts'

export interface EndpointRemoval {
  /** Counts milliseconds since the Unix epoch. */
  atMs: number
  /** Names the service, as in `service web`, or the slice if it belongs to no service. */
  from: string
}
/** Says since when the endpoints of a pod have not been offered for new connections. */
export interface EndpointRemovals {
  of(podUid: string): EndpointRemoval | undefined
  close(): void
}

interface EndpointSlice extends KubeObject {
  endpoints?: {
    conditions?: { ready?: boolean; terminating?: boolean }
    targetRef?: { uid?: string }
  }[]
}

/** Limits the pods that are remembered; the oldest are forgotten first. */
const maxPods = 10_000

/** Learns of removals from writes to EndpointSlices by any client. It sends no request, and no request waits for it. */
export function startEndpointRemovals({ storage, clock }: { storage: Storage; clock: Clock }): EndpointRemovals {
  const byPod = new Map<string, EndpointRemoval>()
  const note = (uid: string, removal: EndpointRemoval): void => {
    byPod.delete(uid)
    byPod.set(uid, removal)
    if (byPod.size > maxPods) byPod.delete(byPod.keys().next().value!)
  }
  const watch = storage.watch({
    prefix: keyPrefix({ group: 'discovery.k8s.io', plural: 'endpointslices' }),
    onEvents(events) {
      for (const { previous, value } of events) {
        if (!previous) continue
        const before = JSON.parse(previous.value) as EndpointSlice
        const still = offered(value === undefined ? undefined : (JSON.parse(value) as EndpointSlice))
        const service = before.metadata.labels?.[SERVICE_LABEL]
        const from = service ? `service ${service}` : `endpoint slice ${before.metadata.name}`
        for (const uid of offered(before)) if (!still.has(uid)) note(uid, { atMs: clock.now(), from })
      }
    },
  })
  return { of: (podUid) => byPod.get(podUid), close: () => watch.close() }
}

/** Returns the pods that receive new connections: an endpoint without a readiness condition counts as ready. */
function offered(slice: EndpointSlice | undefined): Set<string> {
  const endpoints = (slice?.endpoints ?? []).filter(
    ({ conditions = {} }) => conditions.ready !== false && conditions.terminating !== true,
  )
  return new Set(endpoints.flatMap(({ targetRef }) => targetRef?.uid ?? []))
}
