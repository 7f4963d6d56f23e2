import os from 'node:os'
import { join } from 'node:path'
import { isLoopback } from '../shared/client/loopback.ts'
import { featureGatesOption } from '../shared/config/feature-gates.ts'
import { type Options, type OptionType, option, type Values } from '../shared/config/option.ts'
import {
  cidr,
  flag,
  names,
  oneOf,
  path,
  podCount,
  port,
  subdomain,
  text,
  textMap,
} from '../shared/config/option-types.ts'
import { configOption, type Resolved, resolveOptions } from '../shared/config/resolve.ts'
import { serverOption } from '../shared/config/server-urls.ts'
import { timeOriginOption, timeScaleOption } from '../shared/config/time-options.ts'
import { levels } from '../shared/log/levels.ts'
import { checkOptions } from './check-options.ts'
import type { Proxies } from './images/registry/settings.ts'
import type { PodCidr } from './node/pod-cidr.ts'
import { machineAddresses } from './runtime/network/machine-addresses.ts'
import { runtimeOption } from './runtime-option.ts'
import {
  hostFilesOption,
  imageOption,
  imageOptions,
  imageStopSignalOption,
  podOptions,
  separationOptions,
  shortenRunningKillsOption,
} from './shared-options.ts'

const addressings = ['auto', 'node', 'loopback', 'host']

const podCidr: OptionType<PodCidr> = {
  ...cidr,
  placeholder: `CIDR|${addressings.join('|')}`,
  fromText: (words) => (addressings.includes(words) ? words : cidr.fromText(words)),
  fromFile: (value) => (addressings.includes(value as string) ? (value as string) : cidr.fromFile(value)),
}

/** Help and documentation are the same on every machine. */
const machineName: OptionType<string> = { ...subdomain, show: () => undefined }

/** Defines the kubelet's options; each can be set by flag, environment variable or config file. */
export const kubeletOptions = {
  config: configOption,
  kubeconfig: option(path, { default: '', help: 'Address of the API server, and credentials for it' }),
  server: serverOption,
  bootstrapKubeconfig: option(path, {
    default: '',
    help: 'Credentials to ask for own ones with, which are kept in --kubeconfig (default: in --root-dir)',
  }),
  nodeName: option(machineName, {
    default: os.hostname().toLowerCase(),
    help: "Name of the node (default: the machine's)",
  }),
  nodeIp: option(text, {
    default: '',
    help: "Address of the node, and of pods with hostNetwork; auto: this machine's first that is not loopback (default: auto, or 127.0.0.1 with Kubestage's API server on this machine and --network host)",
  }),
  podCidr: option(podCidr, {
    default: 'auto',
    help: "Addresses of pods: a range, node (the node's spec.podCIDR), loopback (out of 127.64.0.0/10) or host (all have the node's); auto: loopback, or node if the API server is not Kubestage's",
  }),
  nodeLabels: option(textMap, { default: {}, help: 'Labels to register the node with' }),
  maxPods: option(podCount, { default: 110, help: 'How many pods the node takes' }),
  rootDir: option(path, { default: '.kubestage/kubelet', help: "The kubelet's own files: pods, logs, containers" }),
  staticPodPath: option(path, { default: '', help: 'Folder whose files are pods of this node' }),
  port: option(port, { default: 0, help: "Port of the kubelet's own HTTPS API; 0 takes a free one" }),
  tlsCertFile: option(path, {
    default: '',
    help: "Certificate of the kubelet's own API; without it there is none, or after a bootstrap one that was asked for",
  }),
  tlsPrivateKeyFile: option(path, { default: '', help: 'Its private key' }),
  clientCaFile: option(path, { default: '', help: 'CA of the clients that may use its API' }),
  healthzPort: option(port, {
    default: 0,
    help: 'Port on 127.0.0.1 that answers /healthz once the node is ready; 0: none',
  }),
  runtime: runtimeOption,
  imageStore: option(path, {
    default: '',
    help: 'Folder of the images that kubestage image load has loaded (default: images in --root-dir)',
  }),
  ...imageOptions,
  ...separationOptions,
  neighbours: option(path, {
    default: '',
    help: 'Folder in which nodes of one machine find the networks of each other (default: there are none)',
  }),
  hiddenPaths: option(names, {
    default: [],
    help: 'Files and folders that no container sees, beside --root-dir, --kubeconfig and the key of --tls-private-key-file',
  }),
  hostFiles: hostFilesOption,
  image: imageOption,
  imagePath: option(textMap, { default: {}, help: "Folder that comes first on an image's PATH; repeatable" }),
  imageStopSignal: imageStopSignalOption,
  featureGates: featureGatesOption,
  shortenRunningKills: shortenRunningKillsOption,
  timeScale: timeScaleOption,
  timeOrigin: timeOriginOption,
  ...podOptions,
  supervised: option(flag, {
    default: false,
    help: 'Supervised mode: start on the first line of standard input, exit when standard input closes',
  }),
  logLevel: option(oneOf(...levels), { default: 'info', help: 'What to log, as JSON lines on standard output' }),
} satisfies Options

export type KubeletConfig = Values<typeof kubeletOptions>

export async function readKubeletConfig(args: readonly string[]): Promise<Resolved<typeof kubeletOptions>> {
  // A supervisor gives everything in the config file; variables of the same names (KUBESTAGE_PORT) were meant for it.
  const env = args.includes('--supervised') ? {} : process.env
  const resolved = await resolveOptions(kubeletOptions, { args, env })
  return { ...resolved, values: completed(resolved.values) }
}

/** Returns the proxies that the environment names, and where `docker login` keeps what it was told. */
export function registryEnvironment(): { proxies: Proxies; dockerConfig: string } {
  const of = (name: string): string => process.env[name.toLowerCase()] || process.env[name] || ''
  return {
    proxies: { http: of('HTTP_PROXY'), https: of('HTTPS_PROXY'), none: of('NO_PROXY') },
    dockerConfig: join(process.env.DOCKER_CONFIG || join(os.homedir(), '.docker'), 'config.json'),
  }
}

/** Returns where a Docker, or a containerd, of this machine is asked; empty: at Docker's usual place. */
export const engineAddresses = (): { docker: string; containerd: string } => ({
  docker: process.env.DOCKER_HOST ?? '',
  containerd: process.env.CONTAINERD_ADDRESS || '/run/containerd/containerd.sock',
})

/** Adds the values that follow from other values. Throws a UsageError if values contradict each other. */
export function completed(values: KubeletConfig): KubeletConfig {
  checkOptions(values)
  const { bootstrapKubeconfig, kubeconfig, rootDir } = values
  return {
    ...values,
    kubeconfig: bootstrapKubeconfig && !kubeconfig ? join(rootDir, 'kubeconfig') : kubeconfig,
  }
}

/**
 * Returns the node's address, given the API server's URL. A kubelet with a supervisor shares the API server's machine,
 * so it uses the loopback address. An API server that is not Kubestage's refuses endpoints with loopback addresses and
 * connections to nodes there, so for such a server the node gets an address of the machine. So it does where pods have
 * networks of their own: in those the loopback address is that of the pod.
 */
export async function nodeAddress(
  { nodeIp, network, supervised }: Pick<KubeletConfig, 'nodeIp' | 'network' | 'supervised'>,
  { hostname }: URL,
  isKubestage: () => Promise<boolean>,
): Promise<string> {
  if (nodeIp && nodeIp !== 'auto') return nodeIp
  if (!nodeIp && network === 'host' && (supervised || (isLoopback(hostname) && (await isKubestage())))) return LOOPBACK
  return machineAddresses()[0] ?? LOOPBACK
}

const LOOPBACK = '127.0.0.1'
