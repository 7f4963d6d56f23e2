/**
 * Lists the messages of runtime.v1 that the kubelet sends and reads: each field with its number and type. `int` is any
 * integer or enum, `map` has texts, and a type with `[]` is repeated. Upstream: k8s.io/cri-api pkg/apis/runtime/v1
 * api.proto of 1.36; fields of Windows and those that the kubelet does not use are left out.
 */
export const messages = {
  Empty: {},
  VersionRequest: { version: [1, 'string'] },
  VersionResponse: { runtimeName: [2, 'string'], runtimeVersion: [3, 'string'] },
  StatusRequest: { verbose: [1, 'bool'] },
  StatusResponse: { status: [1, 'RuntimeStatus'] },
  RuntimeStatus: { conditions: [1, 'RuntimeCondition[]'] },
  RuntimeCondition: { type: [1, 'string'], status: [2, 'bool'], reason: [3, 'string'], message: [4, 'string'] },
  RuntimeConfigResponse: { linux: [1, 'LinuxRuntimeConfiguration'] },
  LinuxRuntimeConfiguration: { cgroupDriver: [1, 'int'] },
  UpdateRuntimeConfigRequest: { runtimeConfig: [1, 'RuntimeConfig'] },
  RuntimeConfig: { networkConfig: [1, 'NetworkConfig'] },
  NetworkConfig: { podCidr: [1, 'string'] },

  NamespaceOption: { network: [1, 'int'], pid: [2, 'int'], ipc: [3, 'int'], targetId: [4, 'string'] },
  Int64Value: { value: [1, 'int'] },
  UInt64Value: { value: [1, 'int'] },
  SecurityProfile: { profileType: [1, 'int'], localhostRef: [2, 'string'] },
  LinuxSandboxSecurityContext: { namespaceOptions: [1, 'NamespaceOption'], seccomp: [9, 'SecurityProfile'] },
  LinuxPodSandboxConfig: {
    cgroupParent: [1, 'string'],
    securityContext: [2, 'LinuxSandboxSecurityContext'],
    sysctls: [3, 'map'],
  },
  PortMapping: {
    protocol: [1, 'int'],
    containerPort: [2, 'int'],
    hostPort: [3, 'int'],
    hostIp: [4, 'string'],
  },
  PodSandboxMetadata: { name: [1, 'string'], uid: [2, 'string'], namespace: [3, 'string'], attempt: [4, 'int'] },
  PodSandboxConfig: {
    metadata: [1, 'PodSandboxMetadata'],
    hostname: [2, 'string'],
    logDirectory: [3, 'string'],
    portMappings: [5, 'PortMapping[]'],
    labels: [6, 'map'],
    annotations: [7, 'map'],
    linux: [8, 'LinuxPodSandboxConfig'],
  },
  RunPodSandboxRequest: { config: [1, 'PodSandboxConfig'] },
  SandboxRef: { podSandboxId: [1, 'string'], verbose: [2, 'bool'] },
  PodSandboxStatusResponse: { status: [1, 'PodSandboxStatus'], info: [2, 'map'] },
  PodSandboxStatus: { id: [1, 'string'], state: [3, 'int'], network: [5, 'PodSandboxNetworkStatus'] },
  PodSandboxNetworkStatus: { ip: [1, 'string'] },
  ListPodSandboxRequest: { filter: [1, 'PodSandboxFilter'] },
  PodSandboxFilter: { id: [1, 'string'], labelSelector: [3, 'map'] },
  ListPodSandboxResponse: { items: [1, 'PodSandbox[]'] },
  PodSandbox: {
    id: [1, 'string'],
    metadata: [2, 'PodSandboxMetadata'],
    state: [3, 'int'],
    createdAt: [4, 'int'],
    labels: [5, 'map'],
    annotations: [6, 'map'],
  },

  ImageSpec: { image: [1, 'string'], userSpecifiedImage: [18, 'string'] },
  KeyValue: { key: [1, 'string'], value: [2, 'string'] },
  Mount: { containerPath: [1, 'string'], hostPath: [2, 'string'], readonly: [3, 'bool'] },
  LinuxContainerResources: {
    cpuPeriod: [1, 'int'],
    cpuQuota: [2, 'int'],
    cpuShares: [3, 'int'],
    memoryLimitInBytes: [4, 'int'],
    oomScoreAdj: [5, 'int'],
  },
  Capability: { addCapabilities: [1, 'string[]'], dropCapabilities: [2, 'string[]'] },
  LinuxContainerSecurityContext: {
    capabilities: [1, 'Capability'],
    privileged: [2, 'bool'],
    namespaceOptions: [3, 'NamespaceOption'],
    runAsUser: [5, 'Int64Value'],
    runAsUsername: [6, 'string'],
    readonlyRootfs: [7, 'bool'],
    supplementalGroups: [8, 'int[]'],
    noNewPrivs: [11, 'bool'],
    runAsGroup: [12, 'Int64Value'],
    maskedPaths: [13, 'string[]'],
    readonlyPaths: [14, 'string[]'],
    seccomp: [15, 'SecurityProfile'],
    supplementalGroupsPolicy: [17, 'int'],
  },
  LinuxContainerConfig: {
    resources: [1, 'LinuxContainerResources'],
    securityContext: [2, 'LinuxContainerSecurityContext'],
  },
  ContainerMetadata: { name: [1, 'string'], attempt: [2, 'int'] },
  ContainerConfig: {
    metadata: [1, 'ContainerMetadata'],
    image: [2, 'ImageSpec'],
    command: [3, 'string[]'],
    args: [4, 'string[]'],
    workingDir: [5, 'string'],
    envs: [6, 'KeyValue[]'],
    mounts: [7, 'Mount[]'],
    labels: [9, 'map'],
    annotations: [10, 'map'],
    logPath: [11, 'string'],
    stdin: [12, 'bool'],
    stdinOnce: [13, 'bool'],
    tty: [14, 'bool'],
    linux: [15, 'LinuxContainerConfig'],
    stopSignal: [18, 'int'],
  },
  CreateContainerRequest: {
    podSandboxId: [1, 'string'],
    config: [2, 'ContainerConfig'],
    sandboxConfig: [3, 'PodSandboxConfig'],
  },
  ContainerRef: { containerId: [1, 'string'] },
  StopContainerRequest: { containerId: [1, 'string'], timeout: [2, 'int'] },
  ContainerStatusRequest: { containerId: [1, 'string'], verbose: [2, 'bool'] },
  ListContainersRequest: { filter: [1, 'ContainerFilter'] },
  ContainerFilter: { id: [1, 'string'], podSandboxId: [3, 'string'], labelSelector: [4, 'map'] },
  ListContainersResponse: { containers: [1, 'Container[]'] },
  Container: {
    id: [1, 'string'],
    podSandboxId: [2, 'string'],
    metadata: [3, 'ContainerMetadata'],
    state: [6, 'int'],
    createdAt: [7, 'int'],
    labels: [8, 'map'],
    annotations: [9, 'map'],
  },
  ContainerStatusResponse: { status: [1, 'ContainerStatus'], info: [2, 'map'] },
  ContainerStatus: {
    id: [1, 'string'],
    state: [3, 'int'],
    createdAt: [4, 'int'],
    startedAt: [5, 'int'],
    finishedAt: [6, 'int'],
    exitCode: [7, 'int'],
    reason: [10, 'string'],
    message: [11, 'string'],
  },
  UpdateContainerResourcesRequest: { containerId: [1, 'string'], linux: [2, 'LinuxContainerResources'] },
  ContainerEventResponse: { containerId: [1, 'string'] },
  ExecSyncRequest: { containerId: [1, 'string'], cmd: [2, 'string[]'], timeout: [3, 'int'] },
  ExecSyncResponse: { stdout: [1, 'bytes'], stderr: [2, 'bytes'], exitCode: [3, 'int'] },
  ExecRequest: {
    containerId: [1, 'string'],
    cmd: [2, 'string[]'],
    tty: [3, 'bool'],
    stdin: [4, 'bool'],
    stdout: [5, 'bool'],
    stderr: [6, 'bool'],
  },
  AttachRequest: {
    containerId: [1, 'string'],
    stdin: [2, 'bool'],
    tty: [3, 'bool'],
    stdout: [4, 'bool'],
    stderr: [5, 'bool'],
  },
  PortForwardRequest: { podSandboxId: [1, 'string'], port: [2, 'int[]'] },
  StreamUrl: { url: [1, 'string'] },

  ImageStatusRequest: { image: [1, 'ImageSpec'], verbose: [2, 'bool'] },
  ImageStatusResponse: { image: [1, 'Image'], info: [2, 'map'] },
  Image: {
    id: [1, 'string'],
    repoDigests: [3, 'string[]'],
    size: [4, 'int'],
    uid: [5, 'Int64Value'],
    username: [6, 'string'],
  },
  PullImageRequest: { image: [1, 'ImageSpec'], auth: [2, 'AuthConfig'], sandboxConfig: [3, 'PodSandboxConfig'] },
  AuthConfig: { username: [1, 'string'], password: [2, 'string'], identityToken: [5, 'string'] },

  ListContainerStatsRequest: { filter: [1, 'ContainerStatsFilter'] },
  ContainerStatsFilter: { id: [1, 'string'], labelSelector: [3, 'map'] },
  ListContainerStatsResponse: { stats: [1, 'ContainerStats[]'] },
  ContainerStats: {
    attributes: [1, 'ContainerAttributes'],
    cpu: [2, 'CpuUsage'],
    memory: [3, 'MemoryUsage'],
    writableLayer: [4, 'FilesystemUsage'],
  },
  ContainerAttributes: { id: [1, 'string'], metadata: [2, 'ContainerMetadata'], labels: [3, 'map'] },
  CpuUsage: { usageCoreNanoSeconds: [2, 'UInt64Value'] },
  MemoryUsage: { workingSetBytes: [2, 'UInt64Value'], usageBytes: [4, 'UInt64Value'], rssBytes: [5, 'UInt64Value'] },
  FilesystemUsage: { usedBytes: [3, 'UInt64Value'], inodesUsed: [4, 'UInt64Value'] },
} as const satisfies Record<string, Record<string, readonly [number: number, type: string]>>

export type Messages = typeof messages
export type MessageName = keyof Messages

type Value<Type, Form> = Type extends 'string'
  ? string
  : Type extends 'bool'
    ? boolean
    : Type extends 'int'
      ? number
      : Type extends 'bytes'
        ? Buffer
        : Type extends 'map'
          ? Record<string, string>
          : Type extends `${infer Item}[]`
            ? Value<Item, Form>[]
            : Type extends MessageName
              ? Form extends 'read'
                ? Read<Type>
                : Written<Type>
              : never
type TypeOf<Field> = Field extends readonly [number, infer Type] ? Type : never

/** Describes a message that is sent: what is left out has the zero of its type. */
export type Written<Name extends MessageName> = {
  -readonly [Field in keyof Messages[Name]]?: Value<TypeOf<Messages[Name][Field]>, 'written'>
}
/** Describes a message that came: what was left out has the zero of its type, and a message is undefined. */
export type Read<Name extends MessageName> = {
  -readonly [Field in keyof Messages[Name]]: TypeOf<Messages[Name][Field]> extends MessageName
    ? Value<TypeOf<Messages[Name][Field]>, 'read'> | undefined
    : Value<TypeOf<Messages[Name][Field]>, 'read'>
}
