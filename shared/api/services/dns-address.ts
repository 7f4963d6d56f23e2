import { AddressRange } from './address-range.ts'

const DNS_INDEX = 9

/**
 * Returns the address of DNS in a cluster whose `kubernetes` Service has this one: ten after that of the network, as
 * upstream's tools choose it. It is `10.96.0.10` in `10.96.0.0/16`.
 */
export const dnsAddress = (kubernetesIP: string): string => new AddressRange(`${kubernetesIP}/24`).at(DNS_INDEX)
