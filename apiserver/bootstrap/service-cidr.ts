import type { SystemObject } from './system-object.ts'

const message = 'Kubernetes default Service CIDR is ready'

/**
 * The range that the server was started with, ready from `time` on. Upstream:
 * pkg/controlplane/controller/defaultservicecidr.
 */
export const defaultServiceCidr = (cidr: string, time: string): SystemObject => ({
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'servicecidrs',
  name: 'kubernetes',
  finalizers: ['networking.k8s.io/service-cidr-finalizer'],
  body: {
    spec: { cidrs: [cidr] },
    status: {
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: time, reason: '', message }],
    },
  },
})
