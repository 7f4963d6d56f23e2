import { holdingOf } from '../../../../shared/api/services/service-holding.ts'
import type { Service } from '../../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn, orNone, wide } from '../../../kind/cells.ts'
import type { ServiceAddresses } from '../../../kind/resource-definition.ts'
import { resource } from '../../../kind/resource-definition.ts'
import { dns1123Label } from '../../../validation/names.ts'
import { allocate, dropFieldsOfOldType, keepAllocated, normalizeClusterIps } from './allocate.ts'
import { allocateAlone } from './allocate-alone.ts'
import { allocateShared } from './allocate-shared.ts'
import { validateService, validateServiceStatus, validateServiceUpdate } from './validate.ts'
import { serviceWarnings, statusWarnings } from './warnings.ts'

const validateName = (name: string): string[] => dns1123Label(name)

export const service = resource<Service>({
  group: '',
  kind: 'Service',
  plural: 'services',
  namespaced: true,
  shortNames: ['svc'],
  categories: ['all'],
  columns: [
    nameColumn,
    column('Type', 'How the service is reached.'),
    column('Cluster-IP', 'Address inside the cluster.'),
    column('External-IP', 'Addresses outside the cluster.'),
    column('Port(s)', 'Ports, node ports and protocols.'),
    ageColumn,
    column('Selector', 'Labels of the pods behind the service.', wide),
  ],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    spec?.type ?? '',
    orNone(spec?.clusterIPs?.[0] ?? spec?.clusterIP),
    externalIps(spec, status),
    ports(spec?.ports ?? []),
    age(metadata.creationTimestamp, nowMs),
    orNone(
      Object.entries(spec?.selector ?? {})
        .map(([key, value]) => `${key}=${value}`)
        .sort()
        .join(','),
    ),
  ],
  selectableFields: {
    'spec.clusterIP': ({ spec }) => spec?.clusterIP ?? '',
    'spec.type': ({ spec }) => spec?.type ?? '',
  },
  subresources: { status: true },
  extraSubresources: [
    { name: 'proxy', kind: 'ServiceProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] },
  ],
  strategy: {
    applyDefaults({ spec, status }) {
      if (spec) applyDefaults(spec)
      for (const ingress of status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= 'VIP'
    },
    begin(object, old, errors, { serviceAddresses, subresource, dryRun = false }) {
      if (subresource || !object.spec) return undefined
      if (old?.spec) keepAllocated(object.spec, old.spec)
      normalizeClusterIps(object.spec, old?.spec)
      const addresses = dryRun && serviceAddresses ? ofAnyRange(serviceAddresses) : serviceAddresses
      if (addresses?.shared) return allocateShared({ service: object, old, dryRun }, addresses, errors)
      if (addresses) return allocateAlone({ service: object, old, dryRun }, addresses, errors)
      allocate(object, old, undefined, errors)
      return undefined
    },
    afterDelete: (object, { serviceAddresses }) => serviceAddresses?.shared?.give(object as never, holdingOf(object)),
    prepareForCreate(object) {
      object.status = { loadBalancer: {} }
    },
    prepareForUpdate(object, old, { subresource }) {
      if (!subresource && object.spec && old.spec) dropFieldsOfOldType(object.spec, old.spec)
    },
    validate: validateService,
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource === 'status') {
        validateServiceStatus(object, errors)
        return
      }
      validateServiceUpdate(object, old, errors)
    },
    warnings: (service, _old, { subresource }) => (subresource ? statusWarnings(service) : serviceWarnings(service)),
    validateName,
    allowCreateOnUpdate: true,
    returnsDeletedObject: true,
  },
  example: {
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  },
})

/** A dry run does not hold ports against their range, nor does that of a real server. */
const ofAnyRange = (addresses: ServiceAddresses): ServiceAddresses => ({
  ...addresses,
  takePort: (port) => addresses.takePort(port, true),
})

type Spec = NonNullable<Service['spec']>
const AFFINITY_SECONDS = 10_800

function applyDefaults(spec: Spec): void {
  spec.type ||= 'ClusterIP'
  spec.sessionAffinity ||= 'None'
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig
  if (spec.sessionAffinity === 'ClientIP' && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: AFFINITY_SECONDS } }
  }
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP'
    if (!port.targetPort) port.targetPort = port.port as typeof port.targetPort
  }
  const isExternal = spec.type === 'NodePort' || spec.type === 'LoadBalancer'
  if (isExternal || (spec.type === 'ClusterIP' && spec.externalIPs?.length)) spec.externalTrafficPolicy ||= 'Cluster'
  if (isExternal || spec.type === 'ClusterIP') spec.internalTrafficPolicy ??= 'Cluster'
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true
}

function externalIps(spec: Spec | undefined, status: Service['status']): string {
  const own = spec?.externalIPs ?? []
  switch (spec?.type) {
    case 'ClusterIP':
    case 'NodePort':
      return orNone(own.join(','))
    case 'ExternalName':
      return spec.externalName ?? ''
    case 'LoadBalancer': {
      const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '')
      return [...new Set(ingress)].sort().concat(own).join(',') || '<pending>'
    }
    default:
      return '<unknown>'
  }
}

const ports = (list: NonNullable<Spec['ports']>): string =>
  orNone(
    list
      .map(({ port, nodePort, protocol }) => (nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`))
      .join(','),
  )
