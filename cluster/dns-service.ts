import { dnsAddress } from '../shared/api/services/dns-address.ts'
import { isStatus } from '../shared/api/status/status-error.ts'
import type { Service } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import { services } from '../shared/client/resources.ts'
import type { Logger } from '../shared/log/log.ts'

const namespace = 'kube-system'
const name = 'kube-dns'

/** Creates the Service by which clients look DNS up, unless it is there. Its address is served by each kubelet. */
export async function ensureDnsService(client: Client, log: Logger): Promise<void> {
  try {
    const { spec } = await client.get<Service>(services, { namespace: 'default', name: 'kubernetes' })
    await client.create<Service>(services, dnsService(dnsAddress(spec?.clusterIP ?? '')))
  } catch (error) {
    if (isStatus(error, 'AlreadyExists')) return
    // Another Service may have the address; names resolve nevertheless.
    log.warn({ err: error }, `the Service ${namespace}/${name} could not be created`)
  }
}

/** Returns the Service of DNS as kubeadm writes it: cmd/kubeadm/app/phases/addons/dns/manifests.go. */
const dnsService = (clusterIP: string): Service => ({
  metadata: {
    name,
    namespace,
    labels: {
      'k8s-app': 'kube-dns',
      'kubernetes.io/cluster-service': 'true',
      'kubernetes.io/name': 'CoreDNS',
    },
    annotations: { 'prometheus.io/port': '9153', 'prometheus.io/scrape': 'true' },
  },
  spec: {
    clusterIP,
    ports: [
      { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
      { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 53 },
      { name: 'metrics', port: 9153, protocol: 'TCP', targetPort: 9153 },
    ],
    selector: { 'k8s-app': 'kube-dns' },
  },
})
