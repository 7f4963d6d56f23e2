import type { Pod, Service } from '../../shared/api/types.ts'
import { ConfigError, UsageError } from '../../shared/config/option.ts'

export type TargetKind = 'service' | 'pod' | 'deployment'

export interface TargetName {
  kind: TargetKind
  name: string
}

/** Maps kubectl's abbreviations to kinds. */
const kinds: Readonly<Record<string, TargetKind>> = {
  ...{ svc: 'service', service: 'service', services: 'service' },
  ...{ po: 'pod', pod: 'pod', pods: 'pod' },
  ...{ deploy: 'deployment', deployment: 'deployment', deployments: 'deployment' },
}

/** Reads `svc/shop`. Throws a UsageError for anything that names no Service, pod or Deployment. */
export function parseTarget(text: string): TargetName {
  const [, word = '', name = ''] = /^([a-z]+)\/([a-z0-9]([-a-z0-9.]*[a-z0-9])?)$/.exec(text) ?? []
  const kind = Object.hasOwn(kinds, word) ? kinds[word] : undefined
  if (kind) return { kind, name }
  throw new UsageError(`invalid target "${text}"; use svc/NAME, pod/NAME or deploy/NAME`)
}

/** A port of a Service: EndpointSlices have its number on each pod under the same name. */
export interface ServicePort {
  name: string
  port: number
}

/**
 * The port that clients of a Service use. Throws a ConfigError if there is none for HTTP requests, or several and no
 * choice.
 */
export function servicePort({ metadata, spec }: Service, wanted: string): ServicePort {
  const service = `Service ${metadata.name}`
  if (spec?.type === 'ExternalName')
    throw new ConfigError(`${service} is an alias of ${spec.externalName} (type ExternalName): it has no pods`)
  const ports = (spec?.ports ?? []).map(({ name = '', port, protocol = 'TCP' }) => ({ name, port, protocol }))
  const remedy = ', so it has no endpoints: send to pod/NAME or deploy/NAME'
  const found = only(ports, { wanted, of: service, remedy })
  if (found.protocol === 'TCP') return { name: found.name, port: found.port }
  throw new ConfigError(`port ${nameOf(found)} of ${service} is ${found.protocol}: requests are HTTP over TCP`)
}

/** The port of a pod, by number or by a name that a container declares. Throws a ConfigError as {@link servicePort}. */
export function podPort({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>, wanted: string): number {
  if (/^\d+$/.test(wanted)) return Number(wanted)
  const declared = [...spec.containers, ...(spec.initContainers ?? [])].flatMap(({ ports = [] }) => ports)
  const ports = declared.map(({ name = '', containerPort, protocol = 'TCP' }) => ({
    ...{ name, port: containerPort, protocol },
  }))
  const tcp = ports.filter(({ protocol }) => protocol === 'TCP')
  return only(tcp, { wanted, of: `pod ${metadata.name}`, remedy: ': name one with --port' }).port
}

interface Named {
  name: string
  port: number
  protocol: string
}

interface Choice {
  wanted: string
  /** `Service shop` */
  of: string
  /** Says what to do if there is no port, as the end of a sentence. */
  remedy: string
}

function only<Port extends Named>(ports: readonly Port[], { wanted, of, remedy }: Choice): Port {
  const listed = ports.map(nameOf).join(', ')
  if (wanted !== '') {
    const found = ports.find(({ name, port }) => name === wanted || String(port) === wanted)
    if (found) return found
    throw new ConfigError(`${of} has no port ${wanted}; ${listed ? `it has ${listed}` : 'it has no ports'}`)
  }
  const tcp = ports.filter(({ protocol }) => protocol === 'TCP')
  const usable = tcp.length > 0 ? tcp : ports
  const [first] = usable
  if (!first) throw new ConfigError(`${of} declares no port${remedy}`)
  if (usable.length > 1) throw new ConfigError(`${of} has ports ${listed}: choose one with --port`)
  return first
}

const nameOf = ({ name, port }: Named): string => (name ? `${name} (${port})` : String(port))
