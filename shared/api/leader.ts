/** The holder of a Lease, for whose loops a write is. */
export interface Leader {
  namespace: string
  name: string
  identity: string
}

/** Requests of a leader's loops have it; the server then writes only while the Lease names this holder. */
export const leaderHeader = 'kubestage-leader'

/** `kube-system/kube-scheduler host_uuid` */
export const leaderText = ({ namespace, name, identity }: Leader): string => `${namespace}/${name} ${identity}`

/** Parses a leader; undefined if the text does not describe one. */
export function leaderIn(text: string): Leader | undefined {
  const [, namespace, name, identity] = /^([^/ ]+)\/([^/ ]+) (.+)$/.exec(text) ?? []
  return namespace && name && identity ? { namespace, name, identity } : undefined
}
