export interface Identity {
  uid: number
  gid: number
}

/**
 * Who we are, where we are nobody in particular: then namespaces can be had only together with one of users, in which we are
 * the only user there is. Undefined for root, who needs none.
 */
export function ordinaryIdentity(): Identity | undefined {
  const uid = process.getuid?.() ?? 0
  return uid === 0 ? undefined : { uid, gid: process.getgid?.() ?? uid }
}
