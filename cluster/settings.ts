import { apiServerOptions } from '../apiserver/options.ts'
import { parseStorage, type StorageChoice, storageOption } from '../apiserver/storage/open-storage.ts'
import { containerOptions } from '../kubelet/container-options.ts'
import { backoffOptions } from '../kubelet/containers/backoff-options.ts'
import { evictionOptions } from '../kubelet/eviction/options.ts'
import { verificationOptions } from '../kubelet/images/access/verification-options.ts'
import { imageGarbageOptions } from '../kubelet/images/garbage/options.ts'
import { registryOptions } from '../kubelet/images/registry-options.ts'
import { shutdownOptions } from '../kubelet/node/shutdown-options.ts'
import { runtimeOption } from '../kubelet/runtime-option.ts'
import { serviceOptions } from '../kubelet/services/options.ts'
import { tunnelOption } from '../kubelet/tunnel-option.ts'
import { electionOptions } from '../shared/config/election-options.ts'
import { option, type Values } from '../shared/config/option.ts'
import {
  commandMap,
  flag,
  oneOf,
  path,
  podCount,
  port,
  subdomain,
  textMap,
  wholeNumber,
} from '../shared/config/option-types.ts'
import { configOption } from '../shared/config/resolve.ts'
import { stateDirOption } from './state-directory.ts'

/** `etcd` without members: one of the cluster's own. */
const parseOwnStorage = (value: unknown): StorageChoice =>
  value === 'etcd' ? { engine: 'etcd', endpoints: [] } : parseStorage(value)

const ownStorage = {
  ...storageOption.type,
  placeholder: 'memory|sqlite:PATH|etcd[:URL,…]',
  schema: { type: 'string', pattern: '^(memory|sqlite:.+|etcd|etcd:https?://.+)$' },
  fromText: parseOwnStorage,
  fromFile: parseOwnStorage,
} as const

/** Defines the options of a cluster: what flags, variables and kubestage.yaml can set. */
export const clusterOptions = {
  config: configOption,
  stateDir: stateDirOption,
  ...apiServerOptions,
  storage: option<StorageChoice>(ownStorage, {
    default: { engine: 'memory' },
    help: 'Where objects are kept: in memory, in a file that outlives us, or in etcd; etcd alone starts one (docs/etcd.md)',
  }),
  journal: option(wholeNumber({ min: 0, max: 1_000_000, placeholder: 'COUNT' }), {
    default: 0,
    help: 'How many requests to keep for kubestage journal',
  }),
  apiservers: option(wholeNumber({ min: 1, max: 9, placeholder: 'COUNT' }), {
    default: 1,
    help: 'API servers of this machine, each in a process of its own; they share one store',
  }),
  scheduler: option(flag, { default: true, help: 'Run the scheduler; without it pods stay Pending' }),
  ...electionOptions,
  kubelet: option(flag, { default: true, help: 'Run kubelets; without them no pods run as processes' }),
  nodes: option(wholeNumber({ min: 0, max: 100, placeholder: 'COUNT' }), {
    default: 1,
    help: 'Nodes that run pods as processes, each with a kubelet process; by default none beside simulated ones',
  }),
  simulatedNodes: option(wholeNumber({ min: 0, max: 1_000, placeholder: 'COUNT' }), {
    default: 0,
    help: 'Nodes whose pods are simulated: any image starts, and no process runs',
  }),
  nodeName: option(subdomain, { default: 'node-1', help: 'Name of the first node' }),
  maxPods: option(podCount, { default: 110, help: 'How many pods each node takes' }),
  kubeletPort: option(port, { default: 0, help: "Port of the first kubelet's own API; 0 takes a free one" }),
  staticPodPath: option(path, {
    default: '',
    help: 'Folder whose files are pods of the node; by default kubelet/manifests in the state folder',
  }),
  image: option(commandMap, {
    default: {},
    help: "Program an image stands for: 'nginx:*=/usr/sbin/nginx'; repeatable",
  }),
  imagePath: option(textMap, {
    default: {},
    help: "Folder that comes first on an image's PATH: 'busybox:*=/opt/busybox/bin'; repeatable",
  }),
  imageStopSignal: option(textMap, {
    default: {},
    help: "Signal that asks an image's program to end, instead of SIGTERM: 'nginx:*=SIGQUIT'; repeatable",
  }),
  imageStore: option(path, {
    default: '',
    help: 'Folder of the images that kubestage image load has loaded; by default images in the state folder',
  }),
  ...registryOptions,
  ...imageGarbageOptions,
  ...verificationOptions,
  runtime: runtimeOption,
  isolation: option(oneOf('auto', 'none', 'pod'), {
    default: 'auto',
    help: "Whether a container's processes have their own namespaces; auto: where the machine allows it",
  }),
  network: option(oneOf('host', 'pod'), {
    default: 'host',
    help: "Whether each pod has a network of its own, or shares the machine's",
  }),
  podTunnel: tunnelOption,
  ...serviceOptions,
  hostFiles: option(flag, {
    default: false,
    help: "Containers write to the machine's own files; volumes are mounted only where it has their place",
  }),
  shortenRunningKills: option(flag, {
    default: false,
    help: 'A second DELETE that leaves less time shortens a kill that has begun; a real kubelet goes on as it was',
  }),
  ...shutdownOptions,
  ...backoffOptions,
  ...evictionOptions,
  ...containerOptions,
}

/** Holds the values of {@link clusterOptions} that the parts of a cluster start with. */
export type ClusterSettings = Omit<Values<typeof clusterOptions>, 'config'>
