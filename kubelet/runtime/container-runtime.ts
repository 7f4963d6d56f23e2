import type { Duplex, Readable, Writable } from 'node:stream'
import type { HostPort } from '../../shared/api/pods/host-ports.ts'
import type { ContainerLimitName } from '../container-limits.ts'
import type { NodeNetwork } from './network/node-network.ts'

/**
 * Separates the kubelet from processes: a subset of CRI's verbs. The runtime knows no probe, hook, phase or HTTP; the
 * kubelet knows no process. Everything that the runtime holds survives the kubelet: a kubelet that restarts finds its
 * sandboxes and containers with `list`.
 */
export interface ContainerRuntime {
  /** Name and version, shown in the node's status (`containerRuntimeVersion`). */
  readonly version: string
  capabilities(): RuntimeCapabilities
  /** Present where pods have a network of their own, which is not the machine's. */
  readonly network?: NodeNetwork
  /** Pods have networks of their own, and this machine reaches them at their addresses without {@link network}. */
  readonly reachesPods?: true
  /** Says why no container can be started or watched now; undefined or absent if all is well. */
  problem?(): string | undefined
  /** A pod can set kernel parameters of an IPC namespace of its own. */
  readonly ownIpc: boolean
  /**
   * Finds an image on this machine, or pulls it from its registry: then `beginPull` is called first, which waits for
   * the pull's turn and returns the credentials to try. Throws {@link ImageError} if the image is not available.
   */
  resolveImage(image: string, options: ImageRequest): Promise<ResolvedImage>
  startSandbox(sandbox: SandboxConfig): Promise<Sandbox>
  /** Ends what is left of the pod's processes and frees its address. Idempotent. */
  stopSandbox(sandboxId: string): Promise<void>
  /** Forgets the sandbox, its containers and their files. Idempotent. */
  removeSandbox(sandboxId: string): Promise<void>
  /**
   * Starts the process. Throws {@link StartError} when it cannot be executed; the container is then listed as exited
   * with 128.
   */
  startContainer(container: ContainerConfig): Promise<ContainerRecord>
  /**
   * Idempotent: already exited → resolves. Sends `signal` once to the main process, waits up to `gracePeriodMs`, then
   * SIGKILL to all of it; resolves when reaped. `onSignal` is told each signal as it is sent, and how the process is
   * set to take it where that can be known, for the termination record.
   */
  stopContainer(
    containerId: string,
    options: {
      signal: string
      gracePeriodMs: number
      onSignal?: (signal: string, reception?: SignalReception) => void
    },
  ): Promise<void>
  /** Removes an exited container's record (and, with `logs`, its log file). Idempotent. */
  removeContainer(containerId: string, options?: { logs?: boolean }): Promise<void>
  /**
   * Runs a command beside the container's process, as a hook or exec probe does. Never throws for a command that fails:
   * see `outcome`.
   */
  execSync(containerId: string, options: ExecOptions): Promise<ExecResult>
  /** Runs a command with streams, for an interactive client. Throws {@link StartError} if it cannot be executed. */
  exec(containerId: string, options: StreamedExecOptions): Promise<ProcessStreams>
  /**
   * Joins the container's own process: from here on, what it prints, and what it reads if it was started with `stdin`.
   * Throws {@link StartError} when it does not run.
   */
  attach(containerId: string): Promise<ProcessStreams>
  /** Resolves to a connection to a port of the pod. Rejects if the port is not open. */
  portForward(sandboxId: string, port: number): Promise<Duplex>
  /**
   * Sets which addresses new sandboxes get. If this machine does not allow them, it resolves to the reason, and nothing
   * changes.
   */
  usePodAddresses(addressing: PodAddressing): Promise<string | undefined>
  /** All sandboxes and containers, running and exited, oldest first: the truth after a restart. */
  list(podUid?: string): Promise<{ sandboxes: Sandbox[]; containers: ContainerRecord[] }>
  /** Measures what the running containers of all pods, or of one pod, use of the machine. */
  usage(podUid?: string): Promise<ContainerUsage[]>
  /** Returns the ID of the machine's current boot, shown as the node's `bootID`; undefined means the real machine's. */
  bootId(): string | undefined
  /**
   * A power loss, and the machine is up again: all processes are killed without SIGTERM, all sandboxes are lost, and
   * `bootId` is another.
   */
  reboot(): Promise<void>
  /** Makes folders in memory; absent if nothing can be mounted. */
  readonly memoryFolders?: MemoryFolders
  /**
   * Programs outside the pod that listen on these TCP ports of the machine that it shares. Absent where there are none.
   */
  portHolders?(podUid: string, ports: ReadonlySet<number>): Promise<PortHolder[]>
  /** The program that answers there, if it is surely none of the pod. Absent where no program listens. */
  outsiderAt?(podUid: string, socket: PodSocket): Promise<PortHolder | undefined>
  /**
   * Calls back for each limit that a container reaches. Returns a function that ends it. Absent where there are none.
   */
  onLimit?(listener: (reached: ReachedLimit) => void): () => void
  /**
   * Sets what a pod and its running containers, by name, may use from now on. Throws where the kernel refuses it.
   * Absent where limits are never kept.
   */
  resize?(podUid: string, pod: PodLimits, containers: ReadonlyMap<string, ResourceLimits>): void
  /** Calls back for every start and exit, at once. Returns a function that ends it. */
  onEvent(listener: (event: RuntimeEvent) => void): () => void
  /** Calls back when other images are there than before. Absent where that never happens. */
  onImagesChanged?(listener: () => void): void
  /**
   * The cluster's time has been moved by so much in all, which containers can see; `isLast`: enough for now, so they
   * are told.
   */
  timeMoved(movedMs: number, options: { isLast: boolean }): void
  close(): Promise<void>
}

/** Provides folders in memory for volumes. They outlive the kubelet; a reboot deletes them. */
export interface MemoryFolders {
  /**
   * Idempotent: a folder that is mounted keeps its files and its size; otherwise anyone may write there, and the answer
   * is true.
   */
  mount(folder: string, bytes: number): Promise<boolean>
  /** Unmounts all memory folders below `folder`. Idempotent. */
  unmountBelow(folder: string): Promise<void>
}

/**
 * `loopback`: out of 127.64.0.0/10, which every Linux answers on without being asked, so that two pods may listen on
 * one port if each binds its own address; `host`: all pods have the node's; otherwise an IPv4 range such as
 * `10.244.1.0/24`.
 */
export type PodAddressing = 'loopback' | 'host' | (string & {})

export interface PodSocket {
  ip: string
  port: number
}

/** A program that listens on a port of the machine. */
export interface PortHolder {
  port: number
  /** `0.0.0.0` and `::` are all addresses. */
  address: string
  /** Holds the process ID; absent if it may not be seen. */
  pid?: number
  /** The holder's program and script, without further arguments. */
  program?: string
  /** Set if the holder is a container of this node: `namespace/name`. */
  pod?: string
  /** Set if the holder is a container of another node of this machine: the address of its pod. */
  podIP?: string
}

export interface ReachedLimit {
  /** `memory`: the container was ended because its memory was used up. */
  limit: ContainerLimitName | 'memory'
  podUid: string
  container: string
}

export interface ContainerUsage {
  podUid: string
  containerId: string
  name: string
  /** Memory that is its own, in RAM. */
  memoryBytes: number
  /** Present where the kernel counts it: memory with the files that it keeps there, and without them. */
  memory?: { usageBytes: number; rssBytes: number }
  /** Counts the CPU time of its processes and of their ended children. */
  cpuSeconds: number
  processes: number
  /** Bytes that it wrote to its own layer and to its log. */
  diskBytes: number
  inodes: number
}

/** Says how a process handles a signal. */
export interface SignalReception {
  disposition: 'caught' | 'ignored' | 'default'
  /** The process is PID 1 of its namespace: the kernel discards signals that it does not catch. */
  isInit: boolean
  /** The process is not PID 1 here, but would be in a container, where the kernel would discard this signal. */
  wouldIgnore?: boolean
}

export interface RuntimeCapabilities {
  isolation: 'none' | 'pod'
  /**
   * Says what a container sees of the machine's files. `own`: all files, with mounts at their paths; what the container
   * writes elsewhere is its own and is deleted with it. `mounts`: the machine's own files, with the mounts whose path
   * exists. `host`: the machine's own files.
   */
  files: 'own' | 'mounts' | 'host'
  /**
   * Says if system calls can be refused to a container: `always`, or only to one that cannot get more privileges. Absent:
   * never.
   */
  seccomp?: 'always' | 'noNewPrivileges'
  /** Processes can be those of any user. */
  users?: true
  /** Containers of images can have users of their own, as `hostUsers: false` asks for. */
  ownUsers?: true
  /** A command beside a container cannot be given variables. */
  execEnv?: false
  /** Lists what the kernel limits; absent where it limits nothing. */
  limits?: readonly LimitedResource[]
}

export type LimitedResource = 'cpu' | 'memory' | 'pids'

/** Says what the kernel lets a container use, or all of a pod. */
export interface ResourceLimits {
  /** Weight when processors are short; 1024 stand for one processor. */
  cpuShares: number
  /** Counts microseconds of processor time in each tenth of a second; absent: no bound. */
  cpuQuotaUs?: number
  memoryBytes?: number
  /** Processes and threads. */
  pids?: number
}
export interface PodLimits extends ResourceLimits {
  qos: string
}

export interface ResolvedImage {
  /** Shown as `imageID`. */
  id: string
  /** Command and arguments when the pod gives none (ENTRYPOINT and CMD). */
  entrypoint: string[]
  cmd: string[]
  env: Record<string, string>
  workingDir?: string
  /** Directories put first on the container's PATH. */
  path: string[]
  stopSignal?: string
  /** True if it was there already; false when it had to be fetched. */
  present: boolean
  /** Holds the image's files; absent if the image stands for a program of this machine. */
  root?: ImageRoot
  /** Counts the bytes of the image's files, or of what came from a registry. */
  bytes?: number
  /** The image came from a registry, which may have a newer one. */
  isPulled?: boolean
  /** Describes the image in the store; absent if it is not kept there. */
  stored?: { id: string; byKubelet: boolean }
}
/** Describes the files of an image. */
export interface ImageRoot {
  /** The folder that has them all. It is not changed. */
  folder: string
  /** The user of its processes, in the image's own words: `web`, `1000` or `1000:50`. Absent: root. */
  user?: string
  /** Folders that containers may write to even if they may not write to the rest. */
  volumes: string[]
}
/** Holds what a registry asks for: a user with a password, or the token that `docker login` may have kept instead. */
export interface Credentials {
  username: string
  password: string
  identityToken?: string
  /** Names the secret that has them; absent if all pods of the node have them. */
  secret?: { namespace: string; name: string; uid: string }
}
export interface ImageRequest {
  policy: string
  /** The container has its own command, and may need no image. */
  hasCommand?: boolean
  /** A volume is wanted: only the files of an image count. */
  isVolume?: boolean
  beginPull?(): Promise<readonly Credentials[]>
  /** Reads the credentials of the pod, for an image that may be there. */
  credentials?(): Promise<readonly Credentials[]>
}
/** `reason` is the waiting reason: ErrImagePull, ErrImageNeverPull, InvalidImageName. */
export class ImageError extends Error {
  readonly reason: 'ErrImagePull' | 'ErrImageNeverPull' | 'InvalidImageName'
  constructor(reason: ImageError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}
export class StartError extends Error {
  /** The waiting reason: the container was made and could not be started, or was not even made and is not listed. */
  readonly reason: 'RunContainerError' | 'CreateContainerError'
  constructor(message: string, reason: StartError['reason'] = 'RunContainerError') {
    super(message)
    this.reason = reason
  }
}

export interface SandboxConfig {
  podUid: string
  namespace: string
  name: string
  hostNetwork: boolean
  hostname: string
  shareProcessNamespace: boolean
  /** The sandbox's containers see the machine's processes. */
  hostPID?: boolean
  /** The sandbox's containers use the machine's System V IPC and POSIX message queues. */
  hostIPC?: boolean
  /** Kernel parameters of the sandbox's IPC namespace; see {@link ContainerRuntime.ownIpc}. */
  sysctls?: Sysctl[]
  /** TCP and UDP ports of the machine that lead to the sandbox, where it has a network of its own. */
  hostPorts?: HostPort[]
  /** The pod asks for users of its own (`hostUsers: false`). */
  ownUsers?: true
  /** Says what all of its containers may use together; absent: nothing limits them. */
  limits?: PodLimits
  /** Opaque to the runtime; given back by `list`. */
  annotations: Record<string, string>
}
/** `name` with dots. */
export interface Sysctl {
  name: string
  value: string
}
export interface Sandbox extends SandboxConfig {
  id: string
  /** The pod's address: its own, or the node's for hostNetwork. */
  ip: string
  /** The first of the pod's own users, as the machine counts them. */
  firstUser?: number
  /** The pod's network is not the machine's. */
  ownNetwork?: true
  state: 'ready' | 'notReady'
  createdAtMs: number
}

export interface ContainerConfig {
  sandboxId: string
  name: string
  /** Holds the container's restartCount. */
  attempt: number
  image: string
  imageId: string
  command: string[]
  env: Record<string, string>
  /**
   * Says which arguments or variables are longer than a program may get. The container is then listed as one that could
   * not be started.
   */
  tooLong?: string
  /** Directories put first on PATH. */
  path: string[]
  workingDir?: string
  logPath: string
  stdin: boolean
  /** The end of the first attached session is the process's end of file. */
  stdinOnce?: boolean
  tty: boolean
  /** Name of a container of the pod whose processes it sees, too; if that runs. */
  target?: string
  /**
   * Mounts in the order in which they are made: a later mount may lie within an earlier one. The host path exists, or a
   * folder is created there.
   */
  mounts?: Mount[]
  /** The container can write to its mounts only. This holds where its files are its own. */
  readonlyRoot?: boolean
  /** Holds the files of an image, which the container has instead of the machine's. */
  root?: ImageRoot
  /** Sets the rights of the processes; by default those of the kubelet. */
  rights?: ProcessRights
  /** The user of its processes; only where its files are its own. */
  user?: WantedUser
  /** Names the system calls that are refused to it, where that can be; see {@link RuntimeCapabilities.seccomp}. */
  seccomp?: SeccompChoice
  /** Says what it may use, in a sandbox that has limits. */
  limits?: ResourceLimits
  /** Says how readily the kernel ends it when the machine is out of memory: from -1000, which is never, to 1000. */
  oomScore?: number
  /** Opaque to the runtime; given back by `list`. */
  annotations: Record<string, string>
}
/** Says what the container's processes may ask of the kernel. It applies where the kubelet is root. */
export interface ProcessRights {
  /** Names capabilities as Linux does, without `CAP_`. */
  capabilities: string[]
  /** Holds what the manifest adds to the usual ones and takes from them, for a runtime that has its own usual ones. */
  asked?: { add: string[]; drop: string[] }
  /** A program that belongs to root does not make its caller root. */
  noNewPrivileges: boolean
  /** The container can change the machine's settings under `/proc/sys` and `/sys`. */
  privileged: boolean
  /** The container sees all of `/proc` (`procMount: Unmasked`), where it has users of its own. */
  openProc?: true
}
/** Names a profile of system calls: `RuntimeDefault`, or a file with its text, as the OCI's runtime specification has it. */
export interface SeccompChoice {
  name: string
  text?: string
}
/** Holds numeric IDs. Without `uid` the user is root; without `gid` the group is the user's. */
export interface WantedUser {
  uid?: number
  gid?: number
  /** Lists supplementary groups. */
  groups: number[]
  /** The user has none of the groups of which the image makes it a member. */
  onlyThese?: true
}
export interface Mount {
  containerPath: string
  hostPath: string
  readonly: boolean
}
export interface ContainerRecord {
  /** Holds 64 hex digits, as with containerd. */
  id: string
  sandboxId: string
  podUid: string
  name: string
  attempt: number
  image: string
  imageId: string
  logPath: string
  state: 'running' | 'exited'
  pid: number
  createdAtMs: number
  startedAtMs: number
  finishedAtMs?: number
  /** 128 + signal number where a signal ended it; 128 when it could not start. */
  exitCode?: number
  /** The reason for the end if the code alone does not tell it: `StartError`, `OOMKilled`, `Unknown`. */
  reason?: string
  message?: string
  annotations: Record<string, string>
}

export interface ExecOptions {
  command: string[]
  /** Adds variables to the container's environment. */
  env?: Record<string, string>
  /** Limits the run; without it there is no limit. After the timeout the command and all that it started are killed. */
  timeoutMs?: number
  signal?: AbortSignal
  /** Bytes kept of the output, from its beginning and its end. Default 10 KiB. */
  maxOutputBytes?: number
  /** The result has `errors`, where the runtime can tell them. */
  separateErrors?: boolean
}
export type ExecResult =
  /** `output` holds what the command wrote, and `errors` what of that went to standard error. */
  | { outcome: 'exited'; exitCode: number; output: string; errors?: string }
  | { outcome: 'timeout'; output: string }
  | { outcome: 'failed'; message: string; output: string }

export interface StreamedExecOptions {
  command: string[]
  /** If false, the command reads an empty file. */
  stdin: boolean
  /** On a terminal of its own, of which there is but one output. */
  tty: boolean
  size?: TerminalSize
}
/**
 * Holds the streams and the exit code of a process. A stream that is not read blocks the process, as a full pipe does.
 */
export interface ProcessStreams {
  /** Ending it is the process's end of file. */
  stdin?: Writable
  /**
   * Ends after the process has. Destroying it means that its reader has left: the process goes on, but for one on a
   * terminal, which is hung up.
   */
  stdout: Readable
  stderr?: Readable
  /** Present only for a terminal. */
  resize?(size: TerminalSize): void
  /** Rejects where it turns out later that the process could not be executed, or where its end cannot be told. */
  exitCode: Promise<number>
}
export interface TerminalSize {
  width: number
  height: number
}

export interface RuntimeEvent {
  type: 'started' | 'exited'
  podUid: string
  containerId: string
}
