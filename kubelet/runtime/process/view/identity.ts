export interface Identity {
  uid: number
  gid: number
}

/**
 * The kubelet's user, if it is an ordinary one: it gets other namespaces only together with a user namespace, in which
 * it is
 * the only user. Undefined for root, which needs none.
 */
export function ordinaryIdentity(): Identity | undefined {
  const uid = process.getuid?.() ?? 0
  return uid === 0 ? undefined : { uid, gid: process.getgid?.() ?? uid }
}
