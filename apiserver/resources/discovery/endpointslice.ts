import { isIP } from 'node:net'
import type { V1EndpointSlice } from '@kubernetes/client-node'
import type { WithMeta } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { duplicate, invalid, required, tooMany } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { strictAddressProblems } from '../../validation/ip.ts'
import { dns1123Label, dns1123Subdomain, labelValueMessages, qualifiedName } from '../../validation/names.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { reject, validateRequiredChoice } from '../parts/messages.ts'
import { contentChanged, plain } from '../parts/plain.ts'
import { isApiServer, validateSpecialAddress } from '../parts/special-addresses.ts'
import { validateImmutable } from '../parts/workload.ts'

type EndpointSlice = WithMeta<V1EndpointSlice>

export const endpointslice = plain<EndpointSlice>({
  group: 'discovery.k8s.io',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
  columns: [
    nameColumn,
    column('AddressType', 'Family of the addresses.'),
    column('Ports', 'Ports of each address.'),
    column('Endpoints', 'The addresses.'),
    ageColumn,
  ],
  cells: ({ metadata, addressType, ports, endpoints }, nowMs) => [
    metadata.name,
    addressType,
    listText((ports ?? []).map(({ port, name = '*' }) => (port === undefined ? name : String(port)))),
    listText((endpoints ?? []).flatMap(({ addresses }) => addresses)),
    age(metadata.creationTimestamp, nowMs),
  ],
  strategy: {
    applyDefaults({ ports }) {
      for (const port of ports ?? []) {
        port.name ??= ''
        port.protocol ??= 'TCP'
      }
    },
    generation: {
      changed: (slice, old) =>
        contentChanged(slice, old) || !deepEqual(slice.metadata.labels ?? {}, old.metadata.labels ?? {}),
    },
    validate: (slice, errors) => validate(slice, errors),
    warnings: ({ addressType }, old) =>
      addressType === 'FQDN' && !old ? ['spec.addressType: FQDN endpoints are deprecated'] : [],
    validateUpdate(slice, old, errors) {
      validate(slice, errors, old)
      validateImmutable(slice.addressType, old.addressType, 'addressType', errors)
    },
  },
  example: {
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.0.1'] }],
    ports: [{ port: 80 }],
  },
})

const SHOWN = 3
function listText(items: string[]): string {
  if (items.length === 0) return '<unset>'
  const more = items.length - SHOWN
  return more > 0 ? `${items.slice(0, SHOWN).join(',')} + ${more} more...` : items.join(',')
}

const MAX_ENDPOINTS = 1000
const MAX_ADDRESSES = 100
const MAX_PORTS = 20_000
const families = ['FQDN', 'IPv4', 'IPv6']
const protocols = ['SCTP', 'TCP', 'UDP']

/** Endpoints that an update leaves alone are not looked at: older versions took what is wrong now. */
function validate(slice: EndpointSlice, errors: FieldErrors, old?: EndpointSlice): void {
  const { metadata, addressType, endpoints, ports } = slice
  validateRequiredChoice(addressType, families, 'addressType', errors)
  validatePorts(ports ?? [], errors)
  const list = endpoints ?? []
  if (old && deepEqual(list, old.endpoints ?? [])) return
  const own = isApiServer(metadata)
  if (list.length > MAX_ENDPOINTS) errors.push(tooMany('endpoints', list.length, MAX_ENDPOINTS))
  else
    for (const [index, endpoint] of list.entries())
      validateEndpoint(endpoint, { family: addressType, own }, `endpoints[${index}]`, errors)
}

type Endpoint = NonNullable<EndpointSlice['endpoints']>[number]
function validateEndpoint(
  endpoint: Endpoint,
  { family, own }: { family: string; own: boolean },
  at: string,
  errors: FieldErrors,
): void {
  const { addresses, nodeName, hostname, hints } = endpoint
  const list = addresses ?? []
  if (list.length === 0) errors.push(required(`${at}.addresses`, 'must contain at least 1 address'))
  else if (list.length > MAX_ADDRESSES) errors.push(tooMany(`${at}.addresses`, list.length, MAX_ADDRESSES))
  for (const [index, address] of list.entries()) {
    const field = `${at}.addresses[${index}]`
    if (family === 'FQDN') validateFullName(address, field, errors)
    else if (family === 'IPv4' || family === 'IPv6') {
      const problems = strictAddressProblems(address)
      reject(errors, field, address, problems)
      if (problems.length > 0) continue
      const version = family === 'IPv4' ? 4 : 6
      if (isIP(address) !== version) errors.push(invalid(`${at}.addresses`, address, `must be an ${family} address`))
      if (!own) validateSpecialAddress(address, field, errors)
    }
  }
  if (nodeName !== undefined) reject(errors, `${at}.nodeName`, nodeName, dns1123Subdomain(nodeName))
  if (hostname !== undefined) reject(errors, `${at}.hostname`, hostname, dns1123Label(hostname))
  if (!hints) return
  const isRight = validateHints(hints.forZones ?? [], labelValueMessages, `${at}.hints.forZones`, errors)
  if (isRight) validateHints(hints.forNodes ?? [], dns1123Subdomain, `${at}.hints.forNodes`, errors)
}

const MAX_HINTS = 8
/** Validates the names that an endpoint is for. Returns false if they are too many to be looked at. */
function validateHints(
  hints: readonly { name: string }[],
  problemsOf: (name: string) => string[],
  at: string,
  errors: FieldErrors,
): boolean {
  if (hints.length > MAX_HINTS) {
    errors.push(tooMany(at, hints.length, MAX_HINTS))
    return false
  }
  const seen = new Set<string>()
  for (const [index, { name = '' }] of hints.entries()) {
    const field = `${at}[${index}].name`
    if (seen.has(name)) errors.push(duplicate(field, name))
    seen.add(name)
    reject(errors, field, name, problemsOf(name))
  }
  return true
}

function validateFullName(name: string, field: string, errors: FieldErrors): void {
  if (name === '') errors.push(required(field))
  else {
    const plain = name.replace(/\.$/, '')
    const problems = dns1123Subdomain(plain)
    const isShort = problems.length === 0 && !plain.includes('.')
    reject(
      errors,
      field,
      name,
      isShort ? ['should be a domain with at least two segments separated by dots'] : problems,
    )
  }
}

function validatePorts(ports: NonNullable<EndpointSlice['ports']>, errors: FieldErrors): void {
  if (ports.length > MAX_PORTS) errors.push(tooMany('ports', ports.length, MAX_PORTS))
  const names = new Set<string>()
  for (const [index, { name = '', protocol, appProtocol }] of ports.entries()) {
    const at = `ports[${index}]`
    if (name) reject(errors, `${at}.name`, name, dns1123Label(name))
    if (names.has(name)) errors.push(duplicate(`${at}.name`, name))
    names.add(name)
    validateRequiredChoice(protocol, protocols, `${at}.protocol`, errors)
    if (appProtocol !== undefined) reject(errors, `${at}.appProtocol`, appProtocol, qualifiedName(appProtocol))
  }
}
