import type { V1EndpointSubset } from '@kubernetes/client-node'
import type { ObjectMeta, Wire } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { addressWarnings } from '../../validation/ip.ts'
import { dns1123Label, dns1123Subdomain, portNumber, qualifiedName } from '../../validation/names.ts'
import { reject, validateAddress, validateRequiredChoice } from '../parts/messages.ts'
import { plain } from '../parts/plain.ts'
import { isApiServer, validateSpecialAddress } from '../parts/special-addresses.ts'

type Subset = Wire<V1EndpointSubset>
interface Endpoints {
  metadata: ObjectMeta
  subsets?: Subset[]
}

const DEPRECATED = 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'

export const endpoints = {
  ...plain<Endpoints>({
    group: '',
    kind: 'Endpoints',
    plural: 'endpoints',
    namespaced: true,
    shortNames: ['ep'],
    columns: [nameColumn, column('Endpoints', 'Addresses and ports.'), ageColumn],
    cells: ({ metadata, subsets }, nowMs) => [
      metadata.name,
      listText(subsets ?? []),
      age(metadata.creationTimestamp, nowMs),
    ],
    strategy: {
      applyDefaults({ subsets }) {
        for (const { ports } of subsets ?? []) for (const port of ports ?? []) port.protocol ||= 'TCP'
      },
      validate,
      validateUpdate: (object, _old, errors) => validate(object, errors),
      warnings: ({ subsets = [] }) => subsets.flatMap(subsetWarnings),
      allowCreateOnUpdate: true,
    },
    example: { metadata: { name: 'outside' }, subsets: [{ addresses: [{ ip: '10.1.0.1' }], ports: [{ port: 80 }] }] },
  }),
  deprecationWarning: DEPRECATED,
}

const subsetWarnings = (subset: Subset, index: number): string[] =>
  (['addresses', 'notReadyAddresses'] as const).flatMap((list) =>
    (subset[list] ?? []).flatMap(({ ip }, place) => addressWarnings(ip, `subsets[${index}].${list}[${place}].ip`)),
  )

const SHOWN = 3
function listText(subsets: Subset[]): string {
  if (subsets.length === 0) return '<none>'
  const texts = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) =>
          addresses.map(({ ip }) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)),
        ),
  )
  const more = texts.length - SHOWN
  return more > 0 ? `${texts.slice(0, SHOWN).join(',')} + ${more} more...` : texts.join(',')
}

const protocols = ['SCTP', 'TCP', 'UDP']
function validate({ metadata, subsets = [] }: Endpoints, errors: FieldErrors): void {
  for (const [index, { addresses = [], notReadyAddresses = [], ports = [] }] of subsets.entries()) {
    const at = `subsets[${index}]`
    if (addresses.length === 0 && notReadyAddresses.length === 0)
      errors.push(required(at, 'must specify `addresses` or `notReadyAddresses`'))
    for (const [name, list] of [
      ['addresses', addresses],
      ['notReadyAddresses', notReadyAddresses],
    ] as const) {
      for (const [place, { ip, hostname, nodeName }] of list.entries()) {
        const field = `${at}.${name}[${place}]`
        validateAddress(ip, `${field}.ip`, errors)
        if (hostname) reject(errors, `${field}.hostname`, hostname, dns1123Label(hostname))
        if (nodeName !== undefined) reject(errors, `${field}.nodeName`, nodeName, dns1123Subdomain(nodeName))
        if (!isApiServer(metadata)) validateSpecialAddress(ip, `${field}.ip`, errors)
      }
    }
    for (const [place, { name, port, protocol, appProtocol }] of ports.entries()) {
      const field = `${at}.ports[${place}]`
      if (!name && ports.length > 1) errors.push(required(`${field}.name`))
      else if (name) reject(errors, `${field}.name`, name, dns1123Label(name))
      reject(errors, `${field}.port`, port, portNumber(port))
      validateRequiredChoice(protocol, protocols, `${field}.protocol`, errors)
      if (appProtocol !== undefined) reject(errors, `${field}.appProtocol`, appProtocol, qualifiedName(appProtocol))
    }
  }
}
