import { isIP } from 'node:net'

/** On the Lease with which each of several API servers tells the others of itself: where clients reach it. */
export const serverAddressAnnotation = 'kubestage.dev/advertise-address'

/** The label of these Leases; upstream's. */
export const serverLeaseSelector = 'apiserver.kubernetes.io/identity=kube-apiserver'

/** One address at which this machine's clients reach a server that listens at `host`. */
export const advertisedAddress = (host: string): string =>
  isIP(host) > 0 && !/^[0:.]+$/.test(host) ? host : '127.0.0.1'
