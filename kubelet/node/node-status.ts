import type { Node } from '../../shared/api/types.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { MachineFacts } from './machine.ts'

const KUBELET_VERSION = 'v1.36.3'
/** Kept free by the eviction rules: memory.available<100Mi. */
const EVICTION_RESERVE_BYTES = 100 * 1024 ** 2

export interface NodePressure {
  memory: boolean
  disk: boolean
  pid: boolean
}
export interface NodeInput {
  name: string
  nodeIP: string
  /** Holds the port of the kubelet's own API. */
  port: number
  machine: MachineFacts
  maxPods: number
  runtimeVersion: string
  pressure: NodePressure
  /** Says why the node is not ready; empty if it is ready. */
  problems: string[]
  nowMs: number
  /** Holds the node as the API has it. Its conditions keep their times. */
  previous?: Node
  labels?: Record<string, string>
  /** Lists the largest images of the machine; see {@link shownImages}. */
  images?: NodeImages
}
export type NodeImages = NonNullable<NonNullable<Node['status']>['images']>

/** The Node object this kubelet registers and keeps up to date. Pure. */
export function nodeObject(input: NodeInput): Node {
  const arch = ARCHITECTURES[input.machine.arch] ?? input.machine.arch
  return {
    metadata: {
      name: input.name,
      labels: {
        'beta.kubernetes.io/arch': arch,
        'beta.kubernetes.io/os': 'linux',
        'kubernetes.io/arch': arch,
        'kubernetes.io/hostname': input.name,
        'kubernetes.io/os': 'linux',
        ...input.labels,
      },
      annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
    },
    spec: {},
    status: nodeStatus(input),
  }
}

const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' }

export function nodeStatus(input: NodeInput): NonNullable<Node['status']> {
  const { machine } = input
  const capacity = {
    cpu: String(machine.cpus),
    'ephemeral-storage': `${Math.floor(machine.diskBytes / 1024)}Ki`,
    memory: `${Math.floor(machine.memoryBytes / 1024)}Ki`,
    pods: String(input.maxPods),
  }
  const allocatable = {
    ...capacity,
    'ephemeral-storage': String(Math.floor(machine.diskBytes * 0.9)),
    memory: `${Math.floor(Math.max(0, machine.memoryBytes - EVICTION_RESERVE_BYTES) / 1024)}Ki`,
  }
  return {
    capacity,
    allocatable,
    conditions: conditions(input),
    addresses: [
      { type: 'InternalIP', address: input.nodeIP },
      { type: 'Hostname', address: input.name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: input.port } },
    nodeInfo: {
      machineID: machine.machineId,
      systemUUID: machine.machineId,
      bootID: machine.bootId,
      kernelVersion: machine.kernelVersion,
      osImage: machine.osImage,
      containerRuntimeVersion: input.runtimeVersion,
      kubeletVersion: KUBELET_VERSION,
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: ARCHITECTURES[machine.arch] ?? machine.arch,
    },
    ...(input.images?.length && { images: input.images }),
  }
}

type Condition = NonNullable<NonNullable<Node['status']>['conditions']>[number]

const OWN_CONDITIONS = new Set(['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'])

/** Ours first; those of others stay. */
function conditions(input: NodeInput): Condition[] {
  const { pressure, problems } = input
  const ready =
    problems.length === 0
      ? { status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
      : { status: 'False', reason: 'KubeletNotReady', message: joined(problems) }
  return [
    timed(
      input,
      'MemoryPressure',
      pressured(pressure.memory, 'Memory', 'memory available', 'KubeletHasSufficientMemory'),
    ),
    timed(input, 'DiskPressure', pressured(pressure.disk, 'Disk', 'disk pressure', 'KubeletHasNoDiskPressure')),
    timed(input, 'PIDPressure', pressured(pressure.pid, 'PID', 'PID available', 'KubeletHasSufficientPID')),
    timed(input, 'Ready', ready),
    ...(input.previous?.status?.conditions ?? []).filter(({ type }) => !OWN_CONDITIONS.has(type)),
  ]
}

const joined = (problems: string[]): string =>
  problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`

function pressured(under: boolean, what: string, noun: string, well: string) {
  if (what === 'Disk') {
    return under
      ? { status: 'True', reason: 'KubeletHasDiskPressure', message: `kubelet has ${noun}` }
      : { status: 'False', reason: well, message: `kubelet has no ${noun}` }
  }
  return under
    ? { status: 'True', reason: `KubeletHasInsufficient${what}`, message: `kubelet has insufficient ${noun}` }
    : { status: 'False', reason: well, message: `kubelet has sufficient ${noun}` }
}

function timed(
  { previous, nowMs }: NodeInput,
  type: string,
  verdict: { status: string; reason: string; message: string },
): Condition {
  const old = previous?.status?.conditions?.find((condition) => condition.type === type)
  const time = toTime(nowMs)
  return {
    type,
    status: verdict.status,
    lastHeartbeatTime: time,
    lastTransitionTime: old?.status === verdict.status ? (old.lastTransitionTime ?? time) : time,
    reason: verdict.reason,
    message: verdict.message,
  }
}
