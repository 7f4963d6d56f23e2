import type { Container, Pod } from '../../shared/api/types.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { allContainers } from '../pod/container-kinds.ts'
import type { ContainerRecord, ContainerRuntime, PortHolder } from '../runtime/container-runtime.ts'
import type { RuntimePod } from '../runtime/runtime-pod.ts'
import { logTail } from './termination-message.ts'

export interface PortConflictsOptions {
  runtime: ContainerRuntime
  events: EventRecorder
}

const everyAddress = new Set(['0.0.0.0', '::'])

/** Tells of containers that failed while a program outside their pod listened on one of their ports. */
export class PortConflicts {
  readonly #options: PortConflictsOptions
  /** The newest failed container that was looked at, by pod and name. */
  readonly #seen = new Map<string, string>()

  constructor(options: PortConflictsOptions) {
    this.#options = options
  }

  /** Looks once at each container that has failed since the last call. */
  async look(pod: Pod, { containers, sandboxes }: RuntimePod): Promise<void> {
    const { runtime } = this.#options
    if (!runtime.portHolders) return
    for (const container of allContainers(pod.spec)) {
      const record = containers.find(({ name }) => name === container.name)
      if (!record || !this.#isNews(record)) continue
      const named = portsIn(logTail(record.logPath))
      const ports = new Set([...portsOf(container), ...named])
      const podIP = sandboxes[0]?.ip ?? ''
      // A program that wants all addresses is in the way of one that has any.
      const isInTheWay = ({ port, address }: PortHolder): boolean =>
        everyAddress.has(address) || address === podIP || named.has(port)
      const holders = ports.size > 0 ? await runtime.portHolders(record.podUid, ports) : []
      const holder = holders.find(isInTheWay)
      if (holder) this.#options.events.podEvent(pod, container.name, 'Warning', 'PortInUse', inWords(holder))
    }
  }

  forget(podUid: string): void {
    for (const key of this.#seen.keys()) if (key.startsWith(`${podUid}_`)) this.#seen.delete(key)
  }

  #isNews({ id, podUid, name, state, exitCode }: ContainerRecord): boolean {
    const key = `${podUid}_${name}`
    if (state !== 'exited' || exitCode === 0 || this.#seen.get(key) === id) return false
    this.#seen.set(key, id)
    return true
  }
}

/** Returns the TCP ports that a container declares, and the numbered ports that its probes and hooks connect to. */
export function portsOf({ ports = [], readinessProbe, livenessProbe, startupProbe, lifecycle }: Container): number[] {
  const actions = [readinessProbe, livenessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop]
  const asked = actions.flatMap((action) => [action?.httpGet?.port, action?.tcpSocket?.port])
  const declared = ports.filter(({ protocol = 'TCP' }) => protocol === 'TCP').map(({ containerPort }) => containerPort)
  return [...declared, ...asked.filter((port) => typeof port === 'number')]
}

/**
 * Returns the ports in a program's error messages about ports in use, such as `listen EADDRINUSE: address already in
 * use 127.64.0.1:8080`.
 */
export function portsIn(output: string): Set<number> {
  const lines = output.split('\n').filter((line) => /EADDRINUSE|address already in use/i.test(line))
  return new Set(lines.flatMap((line) => [...line.matchAll(/:(\d{1,5})\b/g)].map(([, port]) => Number(port))))
}

/** `port 8080 is in use by process 4711 (node server.js), which listens on all addresses …` */
export function inWords(holder: PortHolder): string {
  const { port, address, pod, podIP } = holder
  const where = everyAddress.has(address) ? 'all addresses' : address
  const advice = pod || podIP ? 'let both listen on $KUBESTAGE_POD_IP' : 'stop it'
  return `port ${port} is in use by ${nameOf(holder)}, which listens on ${where} of this machine: ${advice}, or use another port`
}

/** `pod default/web (process 4711, node server.js)`, or the process alone. */
export function nameOf({ pid, program, pod, podIP }: PortHolder): string {
  if (pid === undefined) return 'a process of another user'
  if (pod) return `pod ${pod} (process ${pid}, ${program})`
  return podIP ? `the pod at ${podIP} (process ${pid}, ${program})` : `process ${pid} (${program})`
}
