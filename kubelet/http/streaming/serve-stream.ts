import { createWebSocketStream } from 'ws'
import type { Pod } from '../../../shared/api/types.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { ContainerRuntime } from '../../runtime/container-runtime.ts'
import { Problem } from '../problem.ts'
import { acceptSpdyUpgrade, acceptWebSocket, isSpdy, isWebSocket, type UpgradeRequest } from './negotiation.ts'
import { type PortForwardTarget, servePortForward } from './port-forward.ts'
import { type RemoteCommand, runRemoteCommand } from './remote-command.ts'
import type { WantedStreams } from './remote-streams.ts'
import { spdyRemoteStreams } from './spdy-remote-command.ts'
import { findPod, findRunningContainer, findSandbox } from './stream-target.ts'
import { portForwardProtocols, serveWebSocketPortForward } from './websocket-port-forward.ts'
import { remoteCommandProtocols, webSocketRemoteStreams } from './websocket-remote-command.ts'

export interface StreamRequest {
  verb: 'exec' | 'attach' | 'portForward'
  target: StreamTarget
  query: URLSearchParams
  /** Holds the upgrade; undefined for a request that keeps to HTTP, and so comes too early. */
  upgrade?: UpgradeRequest
}
/** Holds the pod and container that the URL names. */
export interface StreamTarget {
  namespace: string
  name: string
  uid?: string
  /** The container of exec and attach. */
  container?: string
}
export interface StreamContext {
  runtime: ContainerRuntime
  clock: Clock
  pods(): Pod[]
}

/** Oldest last: what a client prefers is what it gets. */
const spdyVersions: Readonly<Record<string, number>> = {
  'v4.channel.k8s.io': 4,
  'v3.channel.k8s.io': 3,
  'v2.channel.k8s.io': 2,
  'channel.k8s.io': 1,
}
const forwardProtocol = 'portforward.k8s.io'
const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io'

/** Answers by taking the connection over; refuses with a Problem as long as it is HTTP. */
export async function serveStream(context: StreamContext, request: StreamRequest): Promise<void> {
  if (request.verb === 'portForward') return forwardPorts(context, request)
  const wanted = wantedStreams(request.query)
  const command = request.query.getAll('command')
  if (request.verb === 'exec' && command.length === 0) throw new Problem(400, 'you must specify a command')
  const pod = findPod(context.pods(), request.target)
  const { id } = await findRunningContainer(context.runtime, pod, request.target.container ?? '')
  await joinRemoteCommand(context, request, wanted, {
    verb: request.verb,
    tty: wanted.tty,
    start: (size) =>
      request.verb === 'exec' ? context.runtime.exec(id, { command, ...wanted, size }) : context.runtime.attach(id),
  })
}

async function joinRemoteCommand(
  { clock }: StreamContext,
  { upgrade }: StreamRequest,
  wanted: WantedStreams,
  command: RemoteCommand,
): Promise<void> {
  if (upgrade && isWebSocket(upgrade.request)) {
    const accepted = await acceptWebSocket(upgrade, Object.keys(remoteCommandProtocols))
    return runRemoteCommand(command, webSocketRemoteStreams(accepted, wanted), clock)
  }
  if (!upgrade || !isSpdy(upgrade.request)) throw upgradeRequired()
  const version = spdyVersions[acceptSpdyUpgrade(upgrade, Object.keys(spdyVersions))]!
  const streams = await spdyRemoteStreams({ transport: upgrade.socket, version, wanted, clock })
  if (streams) await runRemoteCommand(command, streams, clock)
}

async function forwardPorts(context: StreamContext, { target: named, query, upgrade }: StreamRequest): Promise<void> {
  const pod = findPod(context.pods(), named)
  const { id } = await findSandbox(context.runtime, pod)
  const target: PortForwardTarget = {
    clock: context.clock,
    connect: (port) => context.runtime.portForward(id, port),
    describe: `${id}, uid ${pod.metadata.uid}`,
  }
  if (upgrade && isWebSocket(upgrade.request)) {
    const ports = portsOf(query)
    const channels = ports.length > 0 ? Object.keys(portForwardProtocols) : []
    const accepted = await acceptWebSocket(upgrade, [tunnelProtocol, ...channels])
    if (accepted.protocol === tunnelProtocol) return servePortForward(createWebSocketStream(accepted.socket), target)
    return serveWebSocketPortForward(accepted, ports, target)
  }
  if (!upgrade || !isSpdy(upgrade.request)) throw upgradeRequired()
  acceptSpdyUpgrade(upgrade, [forwardProtocol])
  return servePortForward(upgrade.socket, target)
}

const upgradeRequired = (): Problem => new Problem(400, 'Upgrade request required')

function wantedStreams(query: URLSearchParams): WantedStreams {
  const isSet = (name: string): boolean => query.get(name) === '1' || query.get(name) === 'true'
  const wanted = { stdin: isSet('input'), stdout: isSet('output'), stderr: isSet('error'), tty: isSet('tty') }
  if (wanted.stdin || wanted.stdout || wanted.stderr) return wanted
  throw new Problem(400, 'you must specify at least 1 of stdin, stdout, stderr')
}

/** Returns the ports in the query. Only channels need them in advance: in a tunnel each connection names its own. */
function portsOf(query: URLSearchParams): number[] {
  const ports = query.getAll('port').flatMap((value) => value.split(','))
  const wrong = ports.find((port) => !/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535)
  if (wrong !== undefined) throw new Problem(400, `${JSON.stringify(wrong)} is not a port`)
  return ports.map(Number)
}
