import type { Clock } from '../../../shared/clock/clock.ts'
import { grpcCodes } from '../../../shared/grpc/status.ts'
import type { ContainerRuntime } from '../container-runtime.ts'
import { CriClient, CriError } from './api/client.ts'
import { CriRuntime, type CriRuntimeOptions } from './cri-runtime.ts'

/** A runtime that is there answers in moments. */
const answerMs = 5_000
/** The enum CgroupDriver of runtime.v1. */
const systemd = 0

/** Holds what a container runtime says of itself. */
export interface RuntimeFacts {
  /** Name and version: `containerd://2.2.9`. */
  version: string
  /** Says why pods cannot be connected to a network yet, in the runtime's words. */
  networkProblem?: string
  hasSystemdGroups: boolean
}

/** Rejects with an error that says why there is no answer, or that what answers is no runtime. */
async function askRuntime(client: CriClient): Promise<RuntimeFacts> {
  const limit = { timeoutMs: answerMs }
  const { runtimeName, runtimeVersion } = await client.call('version', {}, limit)
  const { status } = await client.call('status', {}, limit)
  const network = status?.conditions.find(({ type }) => type === 'NetworkReady')
  return {
    version: `${runtimeName}://${runtimeVersion.replace(/^v/, '')}`,
    ...(network && !network.status && { networkProblem: network.message || network.reason }),
    hasSystemdGroups: await hasSystemdGroups(client),
  }
}

/** Runtimes before 2024 do not say: then it is not so. */
async function hasSystemdGroups(client: CriClient): Promise<boolean> {
  try {
    const { linux } = await client.call('runtimeConfig', {}, { timeoutMs: answerMs })
    return linux?.cgroupDriver === systemd
  } catch (error) {
    if (error instanceof CriError && error.code === grpcCodes.unimplemented) return false
    throw error
  }
}

/** Asks once, for people: see {@link askRuntime}. */
export async function lookAtRuntime(endpoint: string, clock: Clock): Promise<RuntimeFacts> {
  const client = new CriClient(endpoint, clock)
  try {
    return await askRuntime(client)
  } finally {
    client.close()
  }
}

export interface CriOptions extends Omit<CriRuntimeOptions, 'client' | 'version' | 'hasSystemdGroups'> {
  /** `unix:///path`. */
  endpoint: string
}

/** Opens the container runtime at a socket. Rejects where it does not answer. */
export async function createCriRuntime({ endpoint, ...options }: CriOptions): Promise<ContainerRuntime> {
  const client = new CriClient(endpoint, options.clock)
  try {
    const { version, hasSystemdGroups } = await askRuntime(client)
    const runtime = new CriRuntime({ client, version, hasSystemdGroups, ...options })
    await runtime.begin()
    return runtime
  } catch (error) {
    client.close()
    throw error
  }
}
