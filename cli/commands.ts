import type { Command } from './command.ts'

export interface Entry {
  /** For `kubestage help`: a few words, what the command does. */
  summary: string
  /** The command runs a server: its thread collects its young garbage alone from the start on. */
  serves?: true
  load(): Promise<{ default: Command }>
}

/** All words that may follow `kubestage` but `completion` and `help`, in help order. */
export const commands: Readonly<Record<string, Entry>> = {
  up: {
    summary: 'start a cluster: API server, controllers and a kubelet',
    serves: true,
    load: () => import('./cluster/up.ts'),
  },
  down: { summary: 'stop it', load: () => import('./cluster/down.ts') },
  status: { summary: 'what runs, since when, with how much memory', load: () => import('./cluster/status.ts') },
  env: { summary: 'print the exports that point kubectl at it', load: () => import('./cluster/env.ts') },
  logs: { summary: "print the log of one of the cluster's own programs", load: () => import('./cluster/logs.ts') },
  node: {
    summary: 'list nodes; put one under pressure, shut it down, lose it, get it back',
    load: () => import('./node/index.ts'),
  },
  token: {
    summary: 'bootstrap tokens, with which machines join as nodes; print the command to join',
    load: () => import('./token/index.ts'),
  },
  join: { summary: 'make this machine a node of a cluster, by a token', load: () => import('./join/index.ts') },
  leave: { summary: 'end a node that joined, and remove what it kept', load: () => import('./join/leave.ts') },
  image: {
    summary: 'which programs images stand for; add one while a cluster runs',
    load: () => import('./image/index.ts'),
  },
  config: { summary: 'print what up would go by, and where each value is from', load: () => import('./config.ts') },
  rehearse: {
    summary: 'let an application die in every way, and say how well it does',
    load: () => import('./rehearse/index.ts'),
  },
  snapshot: { summary: 'write all objects to a file', load: () => import('./instruments/snapshot.ts') },
  restore: { summary: 'make all objects what a file says', load: () => import('./instruments/restore.ts') },
  reset: { summary: 'make the cluster what it was at its start', load: () => import('./instruments/reset.ts') },
  storage: {
    summary: 'copy all objects from one storage to another: sqlite, etcd, a snapshot',
    load: () => import('./storage/index.ts'),
  },
  terminations: {
    summary: 'count how pods ended, by reason, cause, verdict, user or workload',
    load: () => import('./terminations/index.ts'),
  },
  journal: {
    summary: 'print the requests that came to the API server',
    load: () => import('./instruments/journal.ts'),
  },
  load: {
    summary: 'send requests to the pods of a Service, and count the lost ones',
    load: () => import('./load/index.ts'),
  },
  record: { summary: 'write what happens in a cluster to a file', load: () => import('./record/index.ts') },
  ui: { summary: 'print a link to the page of a cluster, or of a record', load: () => import('./ui/index.ts') },
  export: { summary: 'make a picture or a page of a record', load: () => import('./export/index.ts') },
  fault: { summary: 'make requests fail on purpose', load: () => import('./instruments/fault.ts') },
  clock: { summary: "print the cluster's own time", load: () => import('./instruments/clock.ts') },
  metrics: {
    summary: 'set what pods use, for kubectl top and autoscalers',
    load: () => import('./instruments/metrics.ts'),
  },
  apiserver: {
    summary: 'run an API server alone, also several on one etcd',
    serves: true,
    load: () => import('./programs/apiserver.ts'),
  },
  controllers: {
    summary: 'run control loops and scheduler alone, beside any API server',
    serves: true,
    load: () => import('./programs/controllers.ts'),
  },
  kubelet: {
    summary: 'run the kubelet of one node alone, on any cluster',
    load: () => import('./programs/kubelet.ts'),
  },
  'envtest-assets': {
    summary: "print a folder of programs for controller-runtime's envtest",
    load: () => import('./envtest/index.ts'),
  },
  doctor: { summary: 'what this machine can do, and how to get the rest', load: () => import('./doctor/index.ts') },
  demo: { summary: 'watch a pod die for a reason, in ten seconds', load: () => import('./demo/index.ts') },
  version: {
    summary: 'print the versions of Kubestage, of Kubernetes as it answers, and of Node',
    load: () => import('./version.ts'),
  },
}

/** Known to `kubestage` itself. */
export const builtIn: Readonly<Record<string, string>> = {
  completion: 'print what completes words in a shell',
  help: 'print this, or what a command is for',
}
