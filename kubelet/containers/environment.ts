import type { Container, EnvVar, Pod, Service } from '../../shared/api/types.ts'
import type { EnvironmentSources } from '../pod/environment-sources.ts'
import { among, Expander, PROGRAM_BYTES, TooLongError } from '../pod/expansion.ts'
import { fieldValue, resourceFieldValue } from '../pod/field-values.ts'

/** A variable that cannot be had: the container waits with this message. */
export class EnvironmentError extends Error {}

/**
 * The variables of a container as its pod asks for them, in upstream's order of precedence. And one of our own: a
 * program that binds its pod's address and not all of them shares no port with another pod, since pods have no network
 * of their own. Throws a {@link TooLongError} as soon as they hold more than a program can be given.
 */
export async function containerEnvironment(
  pod: Pod,
  container: Container,
  podIP: string,
  sources: EnvironmentSources,
): Promise<Record<string, string>> {
  const own = new Variables()
  const links = serviceVariables(pod, sources)
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    const ref = configMapRef ?? secretRef
    const kind = configMapRef ? 'configmap' : 'secret'
    const values = await valuesOf(sources, pod, kind, ref)
    for (const [key, value] of Object.entries(values ?? {})) own.set(prefix + key, value)
  }
  const expander = new Expander()
  const linked = among(links)
  for (const variable of container.env ?? []) {
    const value = variable.valueFrom
      ? await valueFrom(variable, { pod, container, podIP, sources })
      : expander.expand(variable.value ?? '', (name) => own.get(name) ?? linked(name))
    if (value !== undefined) own.set(variable.name, value)
  }
  return { KUBESTAGE_POD_IP: podIP, ...sources.time(pod), ...links, ...own.all() }
}

/** A container's own variables, never more than a program can be given. */
class Variables {
  readonly #values = new Map<string, string>()
  #length = 0

  get(name: string): string | undefined {
    return this.#values.get(name)
  }

  set(name: string, value: string): void {
    this.#length += value.length - (this.#values.get(name)?.length ?? 0)
    if (this.#length > PROGRAM_BYTES) throw new TooLongError(`its variables hold more than ${PROGRAM_BYTES} bytes`)
    this.#values.set(name, value)
  }

  all(): Record<string, string> {
    return Object.fromEntries(this.#values)
  }
}

interface Context {
  pod: Pod
  container: Container
  podIP: string
  sources: EnvironmentSources
}

async function valueFrom({ valueFrom = {} }: EnvVar, context: Context): Promise<string | undefined> {
  const { pod, container, podIP, sources } = context
  const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef } = valueFrom
  if (fieldRef) return fieldValue(pod, fieldRef.fieldPath, { podIP, hostIP: sources.hostIP })
  if (resourceFieldRef) return resourceFieldValue(pod, container, resourceFieldRef, sources.allocatable())
  const ref = configMapKeyRef ?? secretKeyRef
  if (!ref) return undefined
  const kind = configMapKeyRef ? 'configmap' : 'secret'
  const value = (await valuesOf(sources, pod, kind, ref))?.[ref.key]
  if (value !== undefined || ref.optional) return value
  const title = configMapKeyRef ? 'ConfigMap' : 'Secret'
  throw new EnvironmentError(`couldn't find key ${ref.key} in ${title} ${pod.metadata.namespace}/${ref.name}`)
}

async function valuesOf(
  sources: EnvironmentSources,
  pod: Pod,
  kind: 'configmap' | 'secret',
  ref: { name?: string; optional?: boolean } | undefined,
): Promise<Record<string, string> | undefined> {
  const { namespace = '' } = pod.metadata
  const { name = '', optional } = ref ?? {}
  if (kind === 'configmap') {
    const found = await sources.configMap(namespace, name)
    if (found) return (found.data ?? {}) as Record<string, string>
  } else {
    const found = await sources.secret(namespace, name)
    if (found) return decoded((found.data ?? {}) as Record<string, string>)
  }
  if (optional) return undefined
  throw new EnvironmentError(`${kind} "${name}" not found`)
}

const decoded = (data: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))

/**
 * `REDIS_SERVICE_HOST` and its kin: the pod's own namespace if it wants links, and always `kubernetes`, with an address
 * that answers.
 */
function serviceVariables({ metadata, spec }: Pod, sources: EnvironmentSources): Record<string, string> {
  const env: Record<string, string> = {}
  const master = [...sources.services('default')].filter((service) => service.metadata.name === 'kubernetes')
  const own = spec.enableServiceLinks === false ? [] : [...sources.services(metadata.namespace ?? '')]
  for (const service of [...master, ...own]) Object.assign(env, variablesOf(service))
  const isServed = sources.servesCluster && !spec.hostNetwork
  return { ...env, ...(sources.apiServer && !isServed && addressVariables(sources.apiServer)) }
}

/**
 * Returns the variables by which clients in containers find the API server where the service's own address is not
 * routed.
 */
function addressVariables({ hostname, port }: URL): Record<string, string> {
  const number = port || '443'
  return {
    KUBERNETES_SERVICE_HOST: hostname.replace(/^\[|\]$/g, ''),
    KUBERNETES_SERVICE_PORT: number,
    KUBERNETES_SERVICE_PORT_HTTPS: number,
  }
}

function variablesOf({ metadata, spec }: Service): Record<string, string> {
  const { clusterIP, ports = [] } = spec ?? {}
  const [first] = ports
  if (!clusterIP || clusterIP === 'None' || !first) return {}
  const name = variableName(metadata.name ?? '')
  const host = clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP
  const env: Record<string, string> = {
    [`${name}_SERVICE_HOST`]: clusterIP,
    [`${name}_SERVICE_PORT`]: String(first.port),
  }
  for (const port of ports) if (port.name) env[`${name}_SERVICE_PORT_${variableName(port.name)}`] = String(port.port)
  for (const [index, { port, protocol = 'TCP' }] of ports.entries()) {
    const url = `${protocol.toLowerCase()}://${host}:${port}`
    if (index === 0) env[`${name}_PORT`] = url
    const prefix = `${name}_PORT_${port}_${protocol.toUpperCase()}`
    env[prefix] = url
    env[`${prefix}_PROTO`] = protocol.toLowerCase()
    env[`${prefix}_PORT`] = String(port)
    env[`${prefix}_ADDR`] = clusterIP
  }
  return env
}
const variableName = (name: string): string => name.toUpperCase().replaceAll('-', '_')
