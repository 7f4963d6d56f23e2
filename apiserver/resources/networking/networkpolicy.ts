import type {
  NetworkPolicy,
  NetworkPolicySpec,
  PolicyPeer,
  PolicyPort,
} from '../../../shared/api/services/network-policy.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { cidrProblems, cidrWarnings, isCidr, isStrictSubset } from '../../validation/ip.ts'
import { validateLabelSelector } from '../../validation/label-selector.ts'
import { portName, portNumber } from '../../validation/names.ts'
import { reject, validateChoice } from '../parts/messages.ts'
import { contentOrEmptinessChanged, plain } from '../parts/plain.ts'
import { selectorText } from '../parts/workload.ts'

export const networkpolicy = plain<NetworkPolicy>({
  group: 'networking.k8s.io',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  namespaced: true,
  shortNames: ['netpol'],
  columns: [nameColumn, column('Pod-Selector', 'Pods that it is about.'), ageColumn],
  cells: ({ metadata, spec }, nowMs) => [
    metadata.name,
    selectorText(spec?.podSelector),
    age(metadata.creationTimestamp, nowMs),
  ],
  strategy: {
    generation: { changed: contentOrEmptinessChanged },
    applyDefaults({ spec }) {
      if (!spec) return
      for (const { ports = [] } of [...(spec.ingress ?? []), ...(spec.egress ?? [])])
        for (const port of ports) port.protocol ??= 'TCP'
      if (!spec.policyTypes?.length) spec.policyTypes = spec.egress?.length ? ['Ingress', 'Egress'] : ['Ingress']
    },
    validate: ({ spec }, errors) => validate(spec, errors),
    validateUpdate: ({ spec }, _old, errors) => validate(spec, errors),
    warnings: ({ spec }) => warnings(spec),
  },
  example: {
    metadata: { name: 'web-only' },
    spec: { podSelector: { matchLabels: { app: 'web' } }, ingress: [{ ports: [{ port: 80 }] }] },
  },
})

const protocols = ['TCP', 'UDP', 'SCTP']
const policyTypes = ['Ingress', 'Egress']

function validate(spec: NetworkPolicySpec | undefined, errors: FieldErrors): void {
  validateLabelSelector(spec?.podSelector, 'spec.podSelector', errors)
  for (const [index, { ports = [], from = [] }] of (spec?.ingress ?? []).entries()) {
    for (const [place, port] of ports.entries()) validatePort(port, `spec.ingress[${index}].ports[${place}]`, errors)
    for (const [place, peer] of from.entries()) validatePeer(peer, `spec.ingress[${index}].from[${place}]`, errors)
  }
  for (const [index, { ports = [], to = [] }] of (spec?.egress ?? []).entries()) {
    for (const [place, port] of ports.entries()) validatePort(port, `spec.egress[${index}].ports[${place}]`, errors)
    for (const [place, peer] of to.entries()) validatePeer(peer, `spec.egress[${index}].to[${place}]`, errors)
  }
  const types = spec?.policyTypes ?? []
  if (types.length > policyTypes.length) {
    errors.push(invalid('spec.policyTypes', types, 'may not specify more than two policyTypes'))
    return
  }
  for (const [index, type] of types.entries())
    if (!policyTypes.includes(type)) errors.push(notSupported(`spec.policyTypes[${index}]`, type, policyTypes))
}

function validatePort({ protocol, port, endPort }: PolicyPort, at: string, errors: FieldErrors): void {
  validateChoice(protocol, protocols, `${at}.protocol`, errors)
  if (port !== undefined) {
    if (endPort !== undefined && typeof port !== 'number')
      errors.push(invalid(`${at}.endPort`, endPort, 'may not be specified when `port` is non-numeric'))
    reject(errors, `${at}.port`, port, typeof port === 'number' ? portNumber(port) : portName(port))
    if (endPort !== undefined && typeof port === 'number') {
      if (endPort < port) errors.push(invalid(`${at}.endPort`, port, 'must be greater than or equal to `port`'))
      reject(errors, `${at}.endPort`, endPort, portNumber(endPort))
    }
  } else if (endPort !== undefined) {
    errors.push(invalid(`${at}.endPort`, endPort, 'may not be specified when `port` is not specified'))
  }
}

function validateBlock(
  { cidr, except = [] }: NonNullable<PolicyPeer['ipBlock']>,
  at: string,
  errors: FieldErrors,
): void {
  if (!cidr) {
    errors.push(required(`${at}.cidr`))
    return
  }
  reject(errors, `${at}.cidr`, cidr, cidrProblems(cidr))
  if (!isCidr(cidr)) return
  for (const [index, part] of except.entries()) {
    reject(errors, `${at}.except[${index}]`, part, cidrProblems(part))
    if (isStrictSubset(part, cidr) === false)
      errors.push(invalid(`${at}.except[${index}]`, part, 'must be a strict subset of `cidr`'))
  }
}

function validatePeer({ podSelector, namespaceSelector, ipBlock }: PolicyPeer, at: string, errors: FieldErrors): void {
  validateLabelSelector(podSelector, `${at}.podSelector`, errors)
  validateLabelSelector(namespaceSelector, `${at}.namespaceSelector`, errors)
  if (ipBlock) validateBlock(ipBlock, `${at}.ipBlock`, errors)
  if (ipBlock && (podSelector || namespaceSelector))
    errors.push(forbidden(at, 'may not specify both ipBlock and another peer'))
  else if (!ipBlock && !podSelector && !namespaceSelector) errors.push(required(at, 'must specify a peer'))
}

function warnings({ ingress = [], egress = [] }: NetworkPolicySpec = {}): string[] {
  const peers = [
    ...ingress.map(({ from = [] }, index) => [from, `spec.ingress[${index}].from`] as const),
    ...egress.map(({ to = [] }, index) => [to, `spec.egress[${index}].to`] as const),
  ]
  return peers.flatMap(([some, path]) =>
    some.flatMap(({ ipBlock }, index) => {
      if (!ipBlock) return []
      const at = `${path}[${index}].ipBlock`
      const excepted = (ipBlock.except ?? []).flatMap((cidr, k) => cidrWarnings(cidr, `${at}.except[${k}]`))
      return [...cidrWarnings(ipBlock.cidr, `${at}.cidr`), ...excepted]
    }),
  )
}
