import type { Pod, Probe } from '../../shared/api/types.ts'
import { resolvePort } from '../actions/port.ts'
import { inWords, nameOf } from '../containers/port-conflicts.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { ContainerRuntime, PodSocket } from '../runtime/container-runtime.ts'
import type { ProbeRun } from './probe-run.ts'

export interface AnswerCheckOptions {
  runtime: ContainerRuntime
  events: EventRecorder
}

/**
 * Finds out whether a pod itself answers its probes: pods share the machine's network, and a program that listens on
 * all addresses answers at the address of each pod. A container is looked at when a probe of it first succeeds, and
 * when it does so again after a failure.
 */
export class AnswerCheck {
  readonly #options: AnswerCheckOptions
  /** Maps each container to the ports at which its pod answers. */
  readonly #own = new Map<string, Set<number>>()
  /** Containers of which an event was recorded. */
  readonly #told = new Set<string>()

  constructor(options: AnswerCheckOptions) {
    this.#options = options
  }

  /** Says why a successful probe does not count. */
  async problem(run: ProbeRun, podIP: string): Promise<string | undefined> {
    const { runtime, events } = this.#options
    const { pod, container, containerId } = run
    const socket = runtime.outsiderAt && socketOf(run, podIP)
    const own = this.#own.get(containerId) ?? new Set()
    if (!socket || own.has(socket.port)) return undefined
    const outsider = await runtime.outsiderAt?.(pod.metadata.uid ?? '', socket)
    if (!outsider) {
      this.#own.set(containerId, own.add(socket.port))
      return undefined
    }
    if (!this.#told.has(containerId)) {
      this.#told.add(containerId)
      events.podEvent(pod, container.name, 'Warning', 'PortInUse', inWords(outsider))
    }
    return `it was answered by ${nameOf(outsider)} at port ${outsider.port}, not by this pod`
  }

  /** A probe has failed: its next success is looked at again. */
  failed({ containerId }: ProbeRun): void {
    this.#own.delete(containerId)
  }

  forget(containerId: string): void {
    this.#own.delete(containerId)
    this.#told.delete(containerId)
  }
}

/** Returns the socket that the probe connects to. Undefined if it uses no network, or the pod shares the machine's. */
function socketOf({ pod, container, probe }: ProbeRun, podIP: string): PodSocket | undefined {
  const port = isOwnHost(probe, podIP) && !isOnHost(pod) ? portOf(probe) : undefined
  if (port === undefined || podIP === '') return undefined
  return { ip: podIP, port: resolvePort(port, { ports: container.ports ?? [] }) }
}

const portOf = ({ httpGet, tcpSocket, grpc }: Probe): number | string | undefined =>
  (httpGet ?? tcpSocket ?? grpc)?.port
const isOnHost = ({ spec }: Pod): boolean => spec.hostNetwork ?? false
const isOwnHost = ({ httpGet, tcpSocket }: Probe, podIP: string): boolean =>
  [undefined, '', podIP].includes(httpGet?.host ?? tcpSocket?.host)
