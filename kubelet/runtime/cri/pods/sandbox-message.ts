import type { Sandbox, SandboxConfig } from '../../container-runtime.ts'
import type { Read, Written } from '../api/messages.ts'
import { GIVEN, LABELS, msOf, namespaceMode, profileType, protocols, sandboxState } from './labels.ts'

export interface SandboxPlaces {
  /** Names the kubelet's root folder. */
  rootDir: string
  /** Names the folder of the pod's logs. */
  logDirectory: string
  /** Needed where the runtime's control groups are made by systemd. */
  cgroupParent?: string
}

/** Says what the CRI is told of a sandbox. The same for each of its containers. */
export function sandboxMessage(
  config: SandboxConfig,
  attempt: number,
  { rootDir, logDirectory, cgroupParent }: SandboxPlaces,
): Written<'PodSandboxConfig'> {
  const { podUid, namespace, name, hostname, hostPorts = [], sysctls = [] } = config
  const { annotations, ...given } = config
  return {
    metadata: { name, uid: podUid, namespace, attempt },
    // A pod of the machine's network has the machine's name.
    ...(!config.hostNetwork && { hostname }),
    logDirectory,
    portMappings: hostPorts.map(({ ip, protocol, port, containerPort }) => ({
      protocol: Math.max(0, protocols.indexOf(protocol)),
      containerPort,
      hostPort: port,
      hostIp: ip,
    })),
    labels: {
      [LABELS.podName]: name,
      [LABELS.podNamespace]: namespace,
      [LABELS.podUid]: podUid,
      [LABELS.kubelet]: rootDir,
    },
    annotations: { ...annotations, [GIVEN]: JSON.stringify(given) },
    linux: {
      ...(cgroupParent && { cgroupParent }),
      securityContext: {
        namespaceOptions: namespacesOf(config),
        seccomp: { profileType: profileType.runtimeDefault },
      },
      sysctls: Object.fromEntries(sysctls.map(({ name, value }) => [name, value])),
    },
  }
}

/** Says which namespaces the pod shares. Upstream: namespacesForPod in pkg/kubelet/kuberuntime/util. */
export function namespacesOf({
  hostNetwork,
  hostPID,
  hostIPC,
  shareProcessNamespace,
}: SandboxConfig): Written<'NamespaceOption'> {
  const { pod, container, node } = namespaceMode
  return {
    network: hostNetwork ? node : pod,
    pid: hostPID ? node : shareProcessNamespace ? pod : container,
    ipc: hostIPC ? node : pod,
  }
}

/** Returns the sandbox as the kubelet knows it. `ip`: its own; the node's without one. */
export function sandboxOf(
  { id, metadata, state, createdAt, annotations }: Read<'PodSandbox'>,
  { ip, nodeIP }: { ip: string; nodeIP: string },
): Sandbox {
  const { [GIVEN]: json, ...others } = annotations
  const given = givenOf(json, metadata)
  return {
    ...given,
    id,
    ip: given.hostNetwork || !ip ? nodeIP : ip,
    ...(!given.hostNetwork && { ownNetwork: true }),
    state: state === sandboxState.ready ? 'ready' : 'notReady',
    createdAtMs: msOf(createdAt),
    annotations: others,
  }
}

/** Returns what this kubelet wrote there; what another program wrote is ignored. */
function givenOf(json: string | undefined, metadata: Read<'PodSandbox'>['metadata']): SandboxConfig {
  const { uid: podUid = '', namespace = '', name = '' } = metadata ?? {}
  const plain = { hostNetwork: false, hostname: name, shareProcessNamespace: false, annotations: {} }
  try {
    return { ...plain, ...JSON.parse(json ?? '{}'), podUid, namespace, name }
  } catch {
    return { ...plain, podUid, namespace, name }
  }
}
