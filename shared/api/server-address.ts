import { isIP } from 'node:net'

/** Each of several API servers puts this annotation on its Lease, to tell the other servers where clients reach it. */
export const serverAddressAnnotation = 'kubestage.dev/advertise-address'

/** Selects the Leases of API servers by their label, which is upstream's. */
export const serverLeaseSelector = 'apiserver.kubernetes.io/identity=kube-apiserver'

/** Returns an address at which this machine's clients reach a server that listens at `host`. */
export const advertisedAddress = (host: string): string =>
  isIP(host) > 0 && !/^[0:.]+$/.test(host) ? host : '127.0.0.1'
