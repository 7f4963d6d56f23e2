import path from 'node:path'
import type { ContainerConfig, ContainerRecord, Sandbox } from '../../container-runtime.ts'
import { ANNOTATIONS } from '../../recorded-container.ts'
import type { Read, Written } from '../api/messages.ts'
import { containerState, GIVEN, LABELS, msOf, namespaceMode, profileType } from './labels.ts'
import { namespacesOf } from './sandbox-message.ts'
import { signalEnum } from './signal-enum.ts'

/** Holds what a record has and the CRI does not give back, and whether the container has input and a terminal. */
type Given = Pick<ContainerConfig, 'image' | 'imageId' | 'logPath' | 'stdin' | 'tty'>

export interface ContainerPlaces {
  sandbox: Sandbox
  /** Names the kubelet's root folder. */
  rootDir: string
  logDirectory: string
  /** The container whose processes it sees. */
  targetId?: string
}

const cpuPeriodUs = 100_000

/** Says what the CRI is told of a container. Upstream: generateContainerConfig in pkg/kubelet/kuberuntime. */
export function containerMessage(config: ContainerConfig, places: ContainerPlaces): Written<'ContainerConfig'> {
  const { name, attempt, image, imageId, command, env, workingDir, logPath, annotations } = config
  const { sandbox, rootDir, logDirectory } = places
  const given: Given = { image, imageId, logPath, stdin: config.stdin, tty: config.tty }
  const stopSignal = signalEnum(annotations[ANNOTATIONS.stopSignal])
  return {
    metadata: { name, attempt },
    image: { image: imageId, userSpecifiedImage: image },
    command,
    ...(workingDir && { workingDir }),
    envs: Object.entries(env).map(([key, value]) => ({ key, value })),
    mounts: config.mounts ?? [],
    labels: {
      [LABELS.podName]: sandbox.name,
      [LABELS.podNamespace]: sandbox.namespace,
      [LABELS.podUid]: sandbox.podUid,
      [LABELS.container]: name,
      [LABELS.kubelet]: rootDir,
    },
    annotations: { ...annotations, [GIVEN]: JSON.stringify(given) },
    logPath: path.relative(logDirectory, logPath),
    stdin: config.stdin,
    stdinOnce: config.stdinOnce ?? false,
    tty: config.tty,
    linux: { resources: resourcesOf(config), securityContext: securityOf(config, places) },
    ...(stopSignal && { stopSignal }),
  }
}

export function resourcesOf({
  limits,
  oomScore,
}: Pick<ContainerConfig, 'limits' | 'oomScore'>): Written<'LinuxContainerResources'> {
  return {
    ...(limits && { cpuShares: limits.cpuShares }),
    ...(limits?.cpuQuotaUs && { cpuPeriod: cpuPeriodUs, cpuQuota: limits.cpuQuotaUs }),
    ...(limits?.memoryBytes && { memoryLimitInBytes: limits.memoryBytes }),
    ...(oomScore !== undefined && { oomScoreAdj: oomScore }),
  }
}

/** Upstream's, as securitycontext.ConvertToRuntimeMaskedPaths has them for `procMount: Default`. */
const maskedPaths = [
  ...['/proc/asound', '/proc/acpi', '/proc/kcore', '/proc/keys', '/proc/latency_stats', '/proc/timer_list'],
  ...['/proc/timer_stats', '/proc/sched_debug', '/proc/scsi', '/sys/firmware', '/sys/devices/virtual/powercap'],
]
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']

function securityOf(
  { rights, user, root, readonlyRoot = false, seccomp }: ContainerConfig,
  { sandbox, targetId }: ContainerPlaces,
): Written<'LinuxContainerSecurityContext'> {
  const privileged = rights?.privileged ?? false
  const own = namespacesOf(sandbox)
  return {
    namespaceOptions: targetId ? { ...own, pid: namespaceMode.target, targetId } : own,
    privileged,
    readonlyRootfs: readonlyRoot,
    noNewPrivs: rights?.noNewPrivileges ?? false,
    // The runtime knows which capabilities are usual with it.
    ...(rights?.asked && {
      capabilities: { addCapabilities: rights.asked.add, dropCapabilities: rights.asked.drop },
    }),
    ...userOf(user, root?.user ?? ''),
    ...(!privileged && { maskedPaths, readonlyPaths }),
    seccomp: seccompOf(seccomp, privileged),
  }
}

/** The CRI takes a group only beside a user: that is the image's where the pod names none. */
function userOf(user: ContainerConfig['user'], ofImage: string): Written<'LinuxContainerSecurityContext'> {
  const [login = ''] = ofImage.split(':')
  const imageUid = /^\d+$/.test(login) ? Number(login) : undefined
  const uid = user?.uid ?? imageUid ?? (user?.gid === undefined || login ? undefined : 0)
  return {
    ...(uid === undefined ? login && { runAsUsername: login } : { runAsUser: { value: uid } }),
    ...(user?.gid !== undefined && { runAsGroup: { value: user.gid } }),
    supplementalGroups: user?.groups ?? [],
    supplementalGroupsPolicy: user?.onlyThese ? 1 : 0,
  }
}

/** A container that asks for nothing has none, as with a kubelet without `seccompDefault`. */
function seccompOf(seccomp: ContainerConfig['seccomp'], privileged: boolean): Written<'SecurityProfile'> {
  if (!seccomp || privileged) return { profileType: profileType.unconfined }
  if (seccomp.text === undefined) return { profileType: profileType.runtimeDefault }
  return { profileType: profileType.localhost, localhostRef: seccomp.name }
}

/** Reasons that say no more than the exit code. */
const plainReasons = ['', 'Completed', 'Error']

/** Returns the container as the kubelet knows it; undefined for one that was made and never started. */
export function recordOf(
  container: Read<'Container'>,
  status: Read<'ContainerStatus'>,
  pid: number,
): ContainerRecord | undefined {
  const { id, podSandboxId, metadata, labels, annotations } = container
  const { [GIVEN]: json, ...others } = annotations
  const { image, imageId, logPath } = givenOf(json)
  const { createdAt, startedAt, finishedAt, exitCode, reason, message, state } = status
  if (state === containerState.created) return undefined
  const record = {
    id,
    sandboxId: podSandboxId,
    podUid: labels[LABELS.podUid] ?? '',
    name: metadata?.name ?? '',
    attempt: metadata?.attempt ?? 0,
    image,
    imageId,
    logPath,
    createdAtMs: msOf(createdAt),
    startedAtMs: msOf(startedAt || createdAt),
    annotations: others,
  }
  if (state === containerState.running) return { ...record, state: 'running', pid }
  return {
    ...record,
    state: 'exited',
    pid: 0,
    finishedAtMs: msOf(finishedAt),
    exitCode,
    ...(!plainReasons.includes(reason) && { reason }),
    ...(message && { message }),
  }
}

export function givenOf(json = '{}'): Given {
  const none = { image: '', imageId: '', logPath: '', stdin: false, tty: false }
  try {
    return { ...none, ...JSON.parse(json) }
  } catch {
    return none
  }
}
