import type { V1IPAddress } from '@kubernetes/client-node'
import { ignoreNotFound, ignoring } from '../../shared/api/status/status-error.ts'
import type { Service, WithMeta } from '../../shared/api/types.ts'
import { ipAddresses, services } from '../../shared/client/resources.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createLoopQueue } from '../loop-queue.ts'

/**
 * Starts the loop that keeps an IPAddress for each cluster IP, which names the Service that owns it. Upstream:
 * pkg/registry/core/service/ipallocator.
 */
export function startServiceIPAddresses({ client, informers, clock, log }: ControllerContext): Controller {
  const owners = new Map<string, Service>()
  const queue = createLoopQueue({ clock, log, loop: 'service-ip-addresses', object: 'IPAddress' }, async (ip) => {
    const service = owners.get(ip)
    if (!service) await client.delete(ipAddresses, { name: ip }).catch(ignoreNotFound)
    else
      await client.create<WithMeta<V1IPAddress>>(ipAddresses, addressOf(ip, service)).catch(ignoring('AlreadyExists'))
  })
  const own = (service: Service): void => {
    for (const ip of addressesOf(service)) {
      if (owners.get(ip)?.metadata.uid === service.metadata.uid) continue
      owners.set(ip, service)
      queue.add(ip)
    }
  }
  const give = (ips: readonly string[]): void => {
    for (const ip of ips) if (owners.delete(ip)) queue.add(ip)
  }
  informers.selected<Service>(services, {
    handlers: [
      {
        onAdd: own,
        onUpdate(service, old) {
          const kept = addressesOf(service)
          give(addressesOf(old).filter((ip) => !kept.includes(ip)))
          own(service)
        },
        onDelete: (service) => give(addressesOf(service)),
      },
    ],
  })
  return { close: () => queue.close() }
}

const addressesOf = ({ spec }: Service): string[] => (spec?.clusterIPs ?? []).filter((ip) => ip !== '' && ip !== 'None')

function addressOf(ip: string, { metadata: { namespace, name } }: Service): WithMeta<V1IPAddress> {
  return {
    metadata: {
      name: ip,
      labels: {
        'ipaddress.kubernetes.io/ip-family': ip.includes(':') ? 'IPv6' : 'IPv4',
        'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
      },
    },
    spec: { parentRef: { group: '', resource: 'services', namespace, name: name ?? '' } },
  }
}
