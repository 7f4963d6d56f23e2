import { apiServerOptions } from '../apiserver/options.ts'
import { parseStorage, type StorageChoice, storageOption } from '../apiserver/storage/open-storage.ts'
import { runtimeOption } from '../kubelet/runtime-option.ts'
import {
  hostFilesOption,
  imageOption,
  imageOptions,
  imageStopSignalOption,
  podOptions,
  separationOptions,
  shortenRunningKillsOption,
} from '../kubelet/shared-options.ts'
import { electionOptions } from '../shared/config/election-options.ts'
import { option, type Values } from '../shared/config/option.ts'
import { flag, path, podCount, port, subdomain, textMap, wholeNumber } from '../shared/config/option-types.ts'
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
  image: imageOption,
  imagePath: option(textMap, {
    default: {},
    help: "Folder that comes first on an image's PATH: 'busybox:*=/opt/busybox/bin'; repeatable",
  }),
  imageStopSignal: imageStopSignalOption,
  imageStore: option(path, {
    default: '',
    help: 'Folder of the images that kubestage image load has loaded; by default images in the state folder',
  }),
  ...imageOptions,
  runtime: runtimeOption,
  ...separationOptions,
  hostFiles: hostFilesOption,
  shortenRunningKills: shortenRunningKillsOption,
  ...podOptions,
}

/** Holds the values of {@link clusterOptions} that the parts of a cluster start with. */
export type ClusterSettings = Omit<Values<typeof clusterOptions>, 'config'>
