import type { EndpointSlice } from '../workloads/workloads.ts'

/** Names the Service of a slice. Upstream: discovery/v1 LabelServiceName. */
export const SERVICE_LABEL = 'kubernetes.io/service-name'

/** Returns true for an endpoint that takes requests: one that does not say is ready. */
export const isReadyEndpoint = ({ conditions }: Pick<Endpoint, 'conditions'>): boolean => conditions?.ready !== false

export type Endpoint = NonNullable<EndpointSlice['endpoints']>[number]
