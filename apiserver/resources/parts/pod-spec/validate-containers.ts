/** Rules of containers: what all have in common, then what is special to each of the three lists. */
import type { Container, PodSpec } from '../../../../shared/api/types.ts'
import {
  duplicate,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
  tooMany,
} from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dump } from '../../../validation/go-dump.ts'
import { dns1123Label, dns1123Subdomain, portName, portNumber } from '../../../validation/names.ts'
import { reject, validateChoice, validateRequiredChoice } from '../messages.ts'
import { validateEnv, validateEnvFrom } from './validate-env.ts'
import { validateLifecycleAndProbes } from './validate-handlers.ts'
import { validateMounts } from './validate-mounts.ts'
import { validateResources } from './validate-resources.ts'
import { validateSecurityContext } from './validate-security-context.ts'

type Volumes = NonNullable<PodSpec['volumes']>

/** Holds the parts of a pod that the rules for its containers depend on. */
export interface PodContext {
  spec: PodSpec
  volumes: ReadonlyMap<string, Volumes[number]>
  claims: ReadonlySet<string>
  /** Says whether the container belongs to a pod; false if it is part of a template. */
  isPod: boolean
}

const pullPolicies = ['Always', 'IfNotPresent', 'Never']
const messagePolicies = ['File', 'FallbackToLogsOnError']
const protocols = ['SCTP', 'TCP', 'UDP']

function validateCommon(container: Container, context: PodContext, path: string, errors: FieldErrors): void {
  const field = (name: string) => `${path}.${name}`
  if (!container.name) errors.push(required(field('name')))
  else reject(errors, field('name'), container.name, dns1123Label(container.name))
  if (!container.image) errors.push(required(field('image')))
  validateRequiredChoice(container.terminationMessagePolicy, messagePolicies, field('terminationMessagePolicy'), errors)
  validatePorts(container, field('ports'), errors)
  validateEnv(container.env ?? [], new Set(context.volumes.keys()), field('env'), errors)
  validateEnvFrom(container.envFrom ?? [], field('envFrom'), errors)
  validateMounts(container, context.volumes, path, errors)
  validateRequiredChoice(container.imagePullPolicy, pullPolicies, field('imagePullPolicy'), errors)
  validateResources(container.resources ?? {}, context.claims, field('resources'), errors)
  validateResizePolicy(container, context.spec, field('resizePolicy'), errors)
  validateSecurityContext(container.securityContext, context.spec.hostUsers ?? true, field('securityContext'), errors)
}

function validatePorts({ ports = [] }: Container, path: string, errors: FieldErrors): void {
  const names = new Set<string>()
  for (const [index, port] of ports.entries()) {
    const at = `${path}[${index}]`
    if (port.name) {
      const messages = portName(port.name)
      reject(errors, `${at}.name`, port.name, messages)
      if (messages.length === 0 && names.has(port.name)) errors.push(duplicate(`${at}.name`, port.name))
      names.add(port.name)
    }
    if (!port.containerPort) errors.push(required(`${at}.containerPort`))
    else reject(errors, `${at}.containerPort`, port.containerPort, portNumber(port.containerPort))
    if (port.hostPort) reject(errors, `${at}.hostPort`, port.hostPort, portNumber(port.hostPort))
    validateRequiredChoice(port.protocol, protocols, `${at}.protocol`, errors)
  }
}

function validateHostPorts(containers: Container[], pathOf: (index: number) => string, errors: FieldErrors): void {
  const taken = new Set<string>()
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [portIndex, port] of ports.entries()) {
      if (!port.hostPort) continue
      const place = `${port.protocol}/${port.hostIP ?? ''}/${port.hostPort}`
      if (taken.has(place)) errors.push(duplicate(`${pathOf(index)}.ports[${portIndex}].hostPort`, place))
      taken.add(place)
    }
  }
}

const resizable = ['cpu', 'memory']
const resizeRestarts = ['NotRequired', 'RestartContainer']

function validateResizePolicy(
  { resizePolicy = [] }: Container,
  spec: PodSpec,
  path: string,
  errors: FieldErrors,
): void {
  const seen = new Set<string>()
  for (const [index, policy] of resizePolicy.entries()) {
    if (seen.has(policy.resourceName)) errors.push(duplicate(`${path}[${index}]`, policy.resourceName))
    seen.add(policy.resourceName)
    validateRequiredChoice(policy.resourceName, resizable, path, errors)
    validateRequiredChoice(policy.restartPolicy, resizeRestarts, path, errors)
    if (spec.restartPolicy === 'Never' && policy.restartPolicy !== 'NotRequired') {
      const detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
      errors.push(invalid(path, policy.restartPolicy, detail))
    }
  }
}

const restartPolicies = ['Always', 'Never', 'OnFailure']
const restartActions = ['Restart', 'RestartAllContainers']
const MAX_RESTART_RULES = 20
const MAX_EXIT_CODES = 255
const exitCodeOperators = ['In', 'NotIn']

function validateRestartPolicy(container: Container, path: string, errors: FieldErrors): void {
  const { restartPolicy, restartPolicyRules = [] } = container
  validateChoice(restartPolicy, restartPolicies, `${path}.restartPolicy`, errors)
  if (restartPolicyRules.length === 0) return
  if (restartPolicy === undefined) {
    errors.push(required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used'))
  }
  const field = `${path}.restartPolicyRules`
  if (restartPolicyRules.length > MAX_RESTART_RULES) {
    errors.push(tooMany(field, restartPolicyRules.length, MAX_RESTART_RULES))
  }
  for (const [index, rule] of restartPolicyRules.entries()) {
    const at = `${field}[${index}]`
    if (!restartActions.includes(rule.action)) {
      errors.push(notSupported(`${at}.action`, rule.action ?? '', restartActions))
    }
    if (!rule.exitCodes) {
      errors.push(required(`${at}.exitCodes`, 'must be specified'))
      continue
    }
    if (!exitCodeOperators.includes(rule.exitCodes.operator)) {
      errors.push(notSupported(`${at}.exitCodes.operator`, rule.exitCodes.operator ?? '', exitCodeOperators))
    }
    const codes = rule.exitCodes.values ?? []
    if (codes.length > MAX_EXIT_CODES) errors.push(tooMany(`${at}.exitCodes.values`, codes.length, MAX_EXIT_CODES))
  }
}

export function validateContainers(context: PodContext, path: string, errors: FieldErrors): void {
  const containers = context.spec.containers ?? []
  if (containers.length === 0) {
    errors.push(required(path))
    return
  }
  const names = new Set<string>()
  for (const [index, container] of containers.entries()) {
    const at = `${path}[${index}]`
    validateCommon(container, context, at, errors)
    if (names.has(container.name)) errors.push(duplicate(`${at}.name`, container.name))
    names.add(container.name)
    validateLifecycleAndProbes(container, context.spec, at, errors)
    validateRestartPolicy(container, at, errors)
  }
  validateHostPorts(containers, (index) => `${path}[${index}]`, errors)
}

const notForInit = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const

export function validateInitContainers(context: PodContext, path: string, errors: FieldErrors): void {
  const names = new Set((context.spec.containers ?? []).map(({ name }) => name))
  for (const [index, container] of (context.spec.initContainers ?? []).entries()) {
    const at = `${path}[${index}]`
    validateCommon(container, context, at, errors)
    validateRestartPolicy(container, at, errors)
    if (names.has(container.name)) errors.push(duplicate(`${at}.name`, container.name))
    else if (container.name) names.add(container.name)
    // Init containers run one by one: ports only clash within one. Upstream names the first container then.
    validateHostPorts([container], () => `${path}[0]`, errors)
    if (container.restartPolicy === 'Always') {
      validateLifecycleAndProbes(container, context.spec, at, errors)
      continue
    }
    for (const name of notForInit) {
      if (container[name] !== undefined) {
        errors.push(forbidden(`${at}.${name}`, 'may not be set for init containers without restartPolicy=Always'))
      }
    }
  }
}

const notForEphemeral = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const
const EPHEMERAL = 'cannot be set for an Ephemeral Container'

export function validateEphemeralContainers(context: PodContext, path: string, errors: FieldErrors): void {
  const others = new Set(
    [...(context.spec.containers ?? []), ...(context.spec.initContainers ?? [])].map(({ name }) => name),
  )
  const names = new Set(others)
  for (const [index, ephemeral] of (context.spec.ephemeralContainers ?? []).entries()) {
    const at = `${path}[${index}]`
    const container = ephemeral as unknown as Container
    validateCommon(container, context, at, errors)
    validateImageOfPod(container, at, errors)
    if (names.has(container.name)) errors.push(duplicate(`${at}.name`, container.name))
    names.add(container.name)
    const target = ephemeral.targetContainerName
    if (target && !others.has(target)) errors.push(notFound(`${at}.targetContainerName`, target))
    for (const name of notForEphemeral) {
      const value = container[name]
      const isSet = name === 'resources' ? Object.keys(value ?? {}).length > 0 : value !== undefined
      if (isSet) errors.push(forbidden(`${at}.${name}`, EPHEMERAL))
    }
    for (const [mountIndex, mount] of (container.volumeMounts ?? []).entries()) {
      for (const name of ['subPath', 'subPathExpr'] as const) {
        if (mount[name]) errors.push(forbidden(`${at}.volumeMounts[${mountIndex}].${name}`, EPHEMERAL))
      }
    }
  }
}

/** Held back from templates for the sake of old ones. */
export function validateImageOfPod({ image = '' }: Container, path: string, errors: FieldErrors): void {
  if (image !== image.trim()) {
    errors.push(invalid(`${path}.image`, image, 'must not have leading or trailing whitespace'))
  }
}

export function validateResourceClaims({ resourceClaims = [] }: PodSpec, path: string, errors: FieldErrors): void {
  const names = new Set<string>()
  for (const [index, claim] of resourceClaims.entries()) {
    const at = `${path}[${index}]`
    if (!claim.name) errors.push(required(`${at}.name`))
    else if (names.has(claim.name)) errors.push(duplicate(`${at}.name`, claim.name))
    else reject(errors, `${at}.name`, claim.name, dns1123Label(claim.name))
    names.add(claim.name)
    for (const field of ['resourceClaimName', 'resourceClaimTemplateName'] as const) {
      const name = claim[field]
      if (name !== undefined) reject(errors, `${at}.${field}`, name, dns1123Subdomain(name))
    }
    const { resourceClaimName: named, resourceClaimTemplateName: template } = claim
    const shown = () => dump('io.k8s.api.core.v1.PodResourceClaim', claim)
    if (named !== undefined && template !== undefined) {
      errors.push(
        invalid(at, shown(), 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'),
      )
    }
    if (named === undefined && template === undefined) {
      errors.push(invalid(at, shown(), 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'))
    }
  }
}
