import os from 'node:os'
import { knownFeatureGates } from '../shared/config/feature-gates.ts'
import { type Options, option, type Values } from '../shared/config/option.ts'
import { commandMap, duration, featureGates, oneOf, path, port, text, textMap } from '../shared/config/option-types.ts'
import { configOption, type Resolved, resolveOptions } from '../shared/config/resolve.ts'
import { levels } from '../shared/log/levels.ts'

/** What the kubelet can be told, by flag, variable or config file. */
export const kubeletOptions = {
  config: configOption,
  kubeconfig: option(path, { default: '', help: 'How to reach the API server, and as whom' }),
  nodeName: option(text, { default: os.hostname().toLowerCase(), help: 'Name of the node' }),
  nodeIp: option(text, { default: '127.0.0.1', help: 'Address of the node, and of pods with hostNetwork' }),
  nodeLabels: option(textMap, { default: {}, help: 'Labels to register the node with' }),
  rootDir: option(path, { default: '.kubestage/kubelet', help: "The kubelet's own files: pods, logs, containers" }),
  port: option(port, { default: 0, help: "Port of the kubelet's own HTTPS API; 0 takes a free one" }),
  runtime: option(oneOf('process', 'simulated'), { default: 'process', help: 'Real processes, or none at all' }),
  image: option(commandMap, { default: {}, help: "What an image runs, as in 'nginx:*=/usr/sbin/nginx'" }),
  imagePath: option(textMap, { default: {}, help: "Directory of an image's programs, put first on PATH" }),
  featureGates: option(featureGates(knownFeatureGates), { default: knownFeatureGates, help: 'Features on or off' }),
  shutdownGracePeriod: option(duration, { default: 10_000, help: 'What pods get at most when the kubelet is stopped' }),
  logFile: option(path, { default: '', help: 'Where to log; by default standard error' }),
  logLevel: option(oneOf(...levels), { default: 'info', help: 'What to log' }),
} satisfies Options

export type KubeletConfig = Values<typeof kubeletOptions>

export const readKubeletConfig = (args: readonly string[]): Promise<Resolved<typeof kubeletOptions>> =>
  resolveOptions(kubeletOptions, { args, env: process.env })
