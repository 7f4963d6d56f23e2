/** Names the labels of sandboxes and containers. Those of `io.kubernetes` are upstream's, which tools such as crictl show. */
export const LABELS = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  container: 'io.kubernetes.container.name',
  /** Holds the root folder of the kubelet whose it is: kubelets that share a runtime leave the others' alone. */
  kubelet: 'kubestage.dev/kubelet',
} as const

/** Holds, as JSON, what the kubelet gave and what the CRI does not give back. */
export const GIVEN = 'kubestage.dev/given'

/** The enums of runtime.v1, as far as they are used. */
export const namespaceMode = { pod: 0, container: 1, node: 2, target: 3 } as const
export const sandboxState = { ready: 0, notReady: 1 } as const
export const containerState = { created: 0, running: 1, exited: 2, unknown: 3 } as const
export const profileType = { runtimeDefault: 0, unconfined: 1, localhost: 2 } as const
export const protocols = ['TCP', 'UDP', 'SCTP']

/** Timestamps are nanoseconds since the Unix epoch. */
export const msOf = (nanoseconds: number): number => Math.floor(nanoseconds / 1e6)
