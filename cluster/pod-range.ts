import { AddressRange } from '../shared/api/services/address-range.ts'
import { machineRoutes } from '../shared/network/machine-routes.ts'
import { serviceUrl } from '../shared/pki/cluster-pki.ts'

/** kubeadm's users mostly choose the first range. */
const FIRST = 244
const LAST = 254

/** Fills in what a cluster needs whose pods have networks of their own. */
export function podNetworkOf({ clusterCidr, serviceAccountIssuer }: Settings): Settings {
  return { clusterCidr: clusterCidr || freeClusterCidr(), serviceAccountIssuer: serviceAccountIssuer || serviceUrl }
}

interface Settings {
  clusterCidr: string
  serviceAccountIssuer: string
}

/** Returns the first range for the pods of a cluster to which this machine has no route yet. */
function freeClusterCidr(): string {
  const routes = machineRoutes()
  for (let second = FIRST; second <= LAST; second++) {
    const range = new AddressRange(`10.${second}.0.0/16`)
    if (!routes.some(({ network }) => network.overlaps(range))) return range.cidr
  }
  return `10.${FIRST}.0.0/16`
}
