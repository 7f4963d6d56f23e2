/** Environment of a container, and the downward API's ways to point at fields and resources. */

import { isZeroQuantity } from '../../../../shared/api/quantities/quantity.ts'
import type { Container, EnvVar } from '../../../../shared/api/types.ts'
import { invalid, notFound, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { configMapKey, dns1123Subdomain, qualifiedName, relaxedEnvVarName } from '../../../validation/names.ts'
import { reject } from '../messages.ts'

type ValueFrom = NonNullable<EnvVar['valueFrom']>
type FieldRef = NonNullable<ValueFrom['fieldRef']>
type ResourceRef = NonNullable<ValueFrom['resourceFieldRef']>

export function validateEnv(env: EnvVar[], volumes: ReadonlySet<string>, path: string, errors: FieldErrors): void {
  for (let index = 0; index < env.length; index++) {
    const variable = env[index]!
    const problems = variable.name ? relaxedEnvVarName(variable.name) : undefined
    // There are many, and nearly all are right: no path is written for them.
    if (problems?.length === 0 && !variable.valueFrom) continue
    const at = `${path}[${index}]`
    if (problems) reject(errors, `${at}.name`, variable.name, problems)
    else errors.push(required(`${at}.name`))
    if (variable.valueFrom) validateValueFrom(variable, variable.valueFrom, volumes, `${at}.valueFrom`, errors)
  }
}

function validateValueFrom(
  { value }: EnvVar,
  from: ValueFrom,
  volumes: ReadonlySet<string>,
  path: string,
  errors: FieldErrors,
): void {
  let sources = 0
  if (from.fieldRef) {
    sources++
    validateFieldRef(from.fieldRef, envFieldPaths, `${path}.fieldRef`, errors)
  }
  if (from.resourceFieldRef) {
    sources++
    validateResourceRef(from.resourceFieldRef, false, `${path}.resourceFieldRef`, errors)
  }
  for (const name of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const ref = from[name]
    if (!ref) continue
    sources++
    reject(errors, `${path}.${name}.name`, ref.name ?? '', dns1123Subdomain(ref.name ?? ''))
    if (!ref.key) errors.push(required(`${path}.${name}.key`))
    else reject(errors, `${path}.${name}.key`, ref.key, configMapKey(ref.key))
  }
  if (from.fileKeyRef) {
    sources++
    validateFileKeyRef(from.fileKeyRef, volumes, `${path}.fileKeyRef`, errors)
  }
  if (sources === 0) {
    errors.push(
      invalid(
        path,
        '',
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ),
    )
  } else if (value) errors.push(invalid(path, '', 'may not be specified when `value` is not empty'))
  else if (sources > 1) errors.push(invalid(path, '', 'may not have more than one field specified at a time'))
}

function validateFileKeyRef(
  ref: NonNullable<ValueFrom['fileKeyRef']>,
  volumes: ReadonlySet<string>,
  path: string,
  errors: FieldErrors,
): void {
  if (!ref.key) errors.push(required(`${path}.key`))
  else reject(errors, `${path}.key`, ref.key, relaxedEnvVarName(ref.key))
  if (!ref.volumeName) errors.push(required(`${path}.volumeName`))
  else if (!volumes.has(ref.volumeName)) errors.push(notFound(`${path}.volumeName`, ref.volumeName))
  if (!ref.path) errors.push(required(`${path}.path`))
  else if (ref.path.split('/').includes('..')) errors.push(invalid(`${path}.path`, ref.path, "must not contain '..'"))
}

const envFieldPaths = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]
export const volumeFieldPaths = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]
/** The field labels that upstream can convert. Each place allows some of them. */
const convertible = new Set([
  ...envFieldPaths,
  'metadata.annotations',
  'metadata.labels',
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
])
const subscripted = /^(.*)\['([^']*)'\]$/

export function validateFieldRef(ref: FieldRef, allowed: string[], path: string, errors: FieldErrors): void {
  const { fieldPath } = ref
  if (!ref.apiVersion) {
    errors.push(required(`${path}.apiVersion`))
    return
  }
  if (!fieldPath) {
    errors.push(required(`${path}.fieldPath`))
    return
  }
  const [, base, subscript] = subscripted.exec(fieldPath) ?? []
  if (ref.apiVersion !== 'v1') {
    errors.push(
      invalid(`${path}.fieldPath`, fieldPath, `error converting fieldPath: unsupported pod version: ${ref.apiVersion}`),
    )
  } else if (!convertible.has(base ?? fieldPath)) {
    errors.push(
      invalid(
        `${path}.fieldPath`,
        fieldPath,
        `error converting fieldPath: field label not supported: ${base ?? fieldPath}`,
      ),
    )
  } else if (base !== undefined && subscript !== undefined) {
    if (base === 'metadata.annotations')
      reject(errors, path, subscript.toLowerCase(), qualifiedName(subscript.toLowerCase()))
    else if (base === 'metadata.labels') reject(errors, path, subscript, qualifiedName(subscript))
    else errors.push(invalid(path, base, 'does not support subscript'))
  } else if (!allowed.includes(fieldPath)) errors.push(notSupported(`${path}.fieldPath`, fieldPath, allowed))
}

const resourcePaths = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]
const cpuDivisors = ['1m', '1']
const byteDivisors = '1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei'
/** Lists the divisors that each kind of resource allows. */
const divisorRules: [applies: (resource: string) => boolean, allowed: string[], detail: string][] = [
  [
    (resource) => resource.endsWith('.cpu'),
    cpuDivisors,
    "only divisor's values 1m and 1 are supported with the cpu resource",
  ],
  ...[
    ['.memory', 'memory'],
    ['.ephemeral-storage', 'local ephemeral storage'],
    ['.hugepages-', 'hugepages'],
  ].map(([part = '', name]): [(resource: string) => boolean, string[], string] => [
    (resource) => resource.includes(part),
    byteDivisors.split(', '),
    `only divisor's values ${byteDivisors} are supported with the ${name} resource`,
  ]),
]

export function validateResourceRef(ref: ResourceRef, inVolume: boolean, path: string, errors: FieldErrors): void {
  const { resource, containerName, divisor } = ref
  const hugePages = resource?.startsWith('limits.hugepages-') || resource?.startsWith('requests.hugepages-')
  if (inVolume && !containerName) errors.push(required(`${path}.containerName`))
  else if (!resource) errors.push(required(`${path}.resource`))
  else if (!resourcePaths.includes(resource) && !hugePages) {
    errors.push(notSupported(`${path}.resource`, resource, resourcePaths))
  }
  if (divisor === undefined || isZeroQuantity(divisor)) return
  const rule = divisorRules.find(([applies]) => applies(resource ?? ''))
  if (rule && !rule[1].includes(divisor)) errors.push(invalid(`${path}.divisor`, resource, rule[2]))
}

export function validateEnvFrom(envFrom: NonNullable<Container['envFrom']>, path: string, errors: FieldErrors): void {
  for (const [index, source] of envFrom.entries()) {
    const at = `${path}[${index}]`
    if (source.prefix) reject(errors, `${at}.prefix`, source.prefix, relaxedEnvVarName(source.prefix))
    let sources = 0
    for (const name of ['configMapRef', 'secretRef'] as const) {
      const ref = source[name]
      if (!ref) continue
      sources++
      if (!ref.name) errors.push(required(`${at}.${name}.name`))
      else reject(errors, `${at}.${name}.name`, ref.name, dns1123Subdomain(ref.name))
    }
    if (sources === 0) errors.push(invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'))
    else if (sources > 1) errors.push(invalid(path, '', 'may not have more than one field specified at a time'))
  }
}
