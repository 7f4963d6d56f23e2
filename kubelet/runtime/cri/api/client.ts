import type { Clock } from '../../../../shared/clock/clock.ts'
import { type GrpcCallOptions, GrpcChannel, type GrpcStream } from '../../../../shared/grpc/channel.ts'
import { codeName, GrpcError, grpcCodes } from '../../../../shared/grpc/status.ts'
import { Codec } from './codec.ts'
import { type MessageName, messages, type Read, type Written } from './messages.ts'

/** Lists the calls of runtime.v1 that we make: path, what is sent, what comes. */
const calls = {
  version: ['RuntimeService/Version', 'VersionRequest', 'VersionResponse'],
  status: ['RuntimeService/Status', 'StatusRequest', 'StatusResponse'],
  runtimeConfig: ['RuntimeService/RuntimeConfig', 'Empty', 'RuntimeConfigResponse'],
  updateRuntimeConfig: ['RuntimeService/UpdateRuntimeConfig', 'UpdateRuntimeConfigRequest', 'Empty'],
  runPodSandbox: ['RuntimeService/RunPodSandbox', 'RunPodSandboxRequest', 'SandboxRef'],
  stopPodSandbox: ['RuntimeService/StopPodSandbox', 'SandboxRef', 'Empty'],
  removePodSandbox: ['RuntimeService/RemovePodSandbox', 'SandboxRef', 'Empty'],
  podSandboxStatus: ['RuntimeService/PodSandboxStatus', 'SandboxRef', 'PodSandboxStatusResponse'],
  listPodSandbox: ['RuntimeService/ListPodSandbox', 'ListPodSandboxRequest', 'ListPodSandboxResponse'],
  createContainer: ['RuntimeService/CreateContainer', 'CreateContainerRequest', 'ContainerRef'],
  startContainer: ['RuntimeService/StartContainer', 'ContainerRef', 'Empty'],
  stopContainer: ['RuntimeService/StopContainer', 'StopContainerRequest', 'Empty'],
  removeContainer: ['RuntimeService/RemoveContainer', 'ContainerRef', 'Empty'],
  listContainers: ['RuntimeService/ListContainers', 'ListContainersRequest', 'ListContainersResponse'],
  containerStatus: ['RuntimeService/ContainerStatus', 'ContainerStatusRequest', 'ContainerStatusResponse'],
  updateContainerResources: ['RuntimeService/UpdateContainerResources', 'UpdateContainerResourcesRequest', 'Empty'],
  reopenContainerLog: ['RuntimeService/ReopenContainerLog', 'ContainerRef', 'Empty'],
  execSync: ['RuntimeService/ExecSync', 'ExecSyncRequest', 'ExecSyncResponse'],
  exec: ['RuntimeService/Exec', 'ExecRequest', 'StreamUrl'],
  attach: ['RuntimeService/Attach', 'AttachRequest', 'StreamUrl'],
  portForward: ['RuntimeService/PortForward', 'PortForwardRequest', 'StreamUrl'],
  listContainerStats: ['RuntimeService/ListContainerStats', 'ListContainerStatsRequest', 'ListContainerStatsResponse'],
  imageStatus: ['ImageService/ImageStatus', 'ImageStatusRequest', 'ImageStatusResponse'],
  pullImage: ['ImageService/PullImage', 'PullImageRequest', 'Empty'],
} as const satisfies Record<string, readonly [string, MessageName, MessageName]>

export type CallName = keyof typeof calls

/** Upstream: --runtime-request-timeout. */
const requestTimeoutMs = 120_000
/** Upstream: maxMsgSize in k8s.io/cri-client. */
const maxMessageBytes = 16 * 1024 * 1024

/** A call of the CRI that failed, with the message that a kubelet shows. */
export class CriError extends Error {
  readonly code: number

  constructor(code: number, text: string, cause?: unknown) {
    super(`rpc error: code = ${codeName(code)} desc = ${text}`, { cause })
    this.code = code
  }
}

export const isMissing = (error: unknown): boolean => error instanceof CriError && error.code === grpcCodes.notFound

/** Speaks runtime.v1 with a container runtime. All calls throw {@link CriError}. */
export class CriClient {
  readonly channel: GrpcChannel
  readonly #codec = new Codec(messages)

  /** `endpoint`: `unix:///path`. */
  constructor(endpoint: string, clock: Clock) {
    // An answer takes the runtime's own time, whatever ours does.
    this.channel = new GrpcChannel({ url: endpoint, clock: clock.machine, maxMessageBytes })
  }

  async call<Name extends CallName>(
    name: Name,
    request: Written<(typeof calls)[Name][1]>,
    { timeoutMs, signal }: Omit<GrpcCallOptions, 'metadata'> = { timeoutMs: requestTimeoutMs },
  ): Promise<Read<(typeof calls)[Name][2]>> {
    const [path, sent, received] = calls[name]
    const bytes = this.#codec.encode(sent, request)
    const options = { timeoutMs, signal }
    const answer = await this.channel.unary(`/runtime.v1.${path}`, bytes, options).catch(rethrow)
    return this.#decoded(received, answer) as Read<(typeof calls)[Name][2]>
  }

  /** Calls back for each event of a container or sandbox, with its ID, and once at the end. */
  async events(onEvent: (id: string) => void, onEnd: (error: CriError | undefined) => void): Promise<GrpcStream> {
    let failure: CriError | undefined
    const stream = await this.channel
      .stream('/runtime.v1.RuntimeService/GetContainerEvents', {
        onMessage: (message) => {
          if (failure) return
          try {
            onEvent(this.#decoded('ContainerEventResponse', message).containerId)
          } catch (error) {
            failure = error as CriError
            stream.close()
            onEnd(failure)
          }
        },
        onEnd: (error) => {
          if (!failure) onEnd(error && criError(error))
        },
      })
      .catch(rethrow)
    stream.send(Buffer.alloc(0))
    stream.end()
    return stream
  }

  close(): void {
    this.channel.close()
  }

  #decoded<Name extends MessageName>(name: Name, bytes: Buffer): Read<Name> {
    try {
      return this.#codec.decode(name, bytes) as Read<Name>
    } catch (error) {
      throw new CriError(grpcCodes.internal, `what came is no ${name}: ${(error as Error).message}`, error)
    }
  }
}

function rethrow(error: unknown): never {
  throw criError(error)
}

function criError(error: unknown): CriError {
  const { code, message } = error instanceof GrpcError ? error : { code: grpcCodes.unavailable, message: String(error) }
  return new CriError(code, message, error)
}
