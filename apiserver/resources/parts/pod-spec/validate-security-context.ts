/** Security contexts of containers and of the pod. */
import type { Container, PodSpec } from '../../../../shared/api/types.ts'
import { forbidden, invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dump } from '../../../validation/go-dump.ts'
import { between, MAX_INT32, reject, validateChoice, validateRequiredChoice } from '../messages.ts'
import { validateWindowsOptions } from './validate-windows.ts'

type SecurityContext = NonNullable<Container['securityContext']>
type PodSecurityContext = NonNullable<PodSpec['securityContext']>

const validateId = (id: number | undefined, field: string, errors: FieldErrors): void => {
  if (id !== undefined && (id < 0 || id > MAX_INT32)) errors.push(invalid(field, id, between(0, MAX_INT32)))
}

export function validateSecurityContext(
  context: SecurityContext | undefined,
  hostUsers: boolean,
  path: string,
  errors: FieldErrors,
): void {
  if (!context) return
  validateId(context.runAsUser, `${path}.runAsUser`, errors)
  validateId(context.runAsGroup, `${path}.runAsGroup`, errors)
  validateProcMount(context.procMount, hostUsers, `${path}.procMount`, errors)
  validateSeccomp(context.seccompProfile, `${path}.seccompProfile`, errors)
  validateEscalation(context, path, errors)
  validateAppArmor(context.appArmorProfile, `${path}.appArmorProfile`, errors)
  validateWindowsOptions(context.windowsOptions, `${path}.windowsOptions`, errors)
}

function validateProcMount(
  procMount: string | undefined,
  hostUsers: boolean,
  field: string,
  errors: FieldErrors,
): void {
  if (procMount === undefined) return
  const supported = ['Default', 'Unmasked']
  if (!supported.includes(procMount)) errors.push(notSupported(field, procMount, supported))
  if (procMount === 'Unmasked' && hostUsers) {
    errors.push(invalid(field, procMount, '`hostUsers` must be false to use `Unmasked`'))
  }
}

function validateEscalation(context: SecurityContext, path: string, errors: FieldErrors): void {
  if (context.allowPrivilegeEscalation !== false) return
  const shown = () => dump('io.k8s.api.core.v1.SecurityContext', context)
  if (context.privileged) {
    errors.push(invalid(path, shown(), 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'))
  }
  for (const capability of context.capabilities?.add ?? []) {
    if (capability === 'CAP_SYS_ADMIN') {
      const detail = 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN'
      errors.push(invalid(path, shown(), detail))
    }
  }
}

function validateSeccomp(profile: SecurityContext['seccompProfile'], path: string, errors: FieldErrors): void {
  if (!profile) return
  const { type, localhostProfile } = profile
  const supported = ['Localhost', 'RuntimeDefault', 'Unconfined']
  validateRequiredChoice(type, supported, `${path}.type`, errors, 'type is required when seccompProfile is set')
  if (type === 'Localhost') {
    if (localhostProfile === undefined) {
      errors.push(required(`${path}.localhostProfile`, 'must be set when seccomp type is Localhost'))
    } else if (localhostProfile.startsWith('/')) {
      errors.push(invalid(`${path}.localhostProfile`, localhostProfile, 'must be a relative path'))
    } else if (localhostProfile.split('/').includes('..')) {
      errors.push(invalid(`${path}.localhostProfile`, localhostProfile, "must not contain '..'"))
    }
  } else if (localhostProfile !== undefined) {
    const shown = { Type: type ?? '', LocalhostProfile: localhostProfile }
    errors.push(invalid(`${path}.localhostProfile`, shown, 'can only be set when seccomp type is Localhost'))
  }
}

function validateAppArmor(profile: SecurityContext['appArmorProfile'], path: string, errors: FieldErrors): void {
  if (!profile) return
  const { type, localhostProfile } = profile
  const supported = ['Localhost', 'RuntimeDefault', 'Unconfined']
  validateRequiredChoice(type, supported, `${path}.type`, errors, 'type is required when appArmorProfile is set')
  const field = `${path}.localhostProfile`
  if (type === 'Localhost') {
    const trimmed = (localhostProfile ?? '').trim()
    if (trimmed === '') errors.push(required(field, 'must be set when AppArmor type is Localhost'))
    else if (trimmed !== localhostProfile) {
      errors.push(invalid(field, localhostProfile, 'must not be padded with whitespace'))
    }
  } else if (type && localhostProfile) {
    errors.push(invalid(field, localhostProfile, 'can only be set when AppArmor type is Localhost'))
  }
}

const sysctlName = /^(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*(?:[a-z0-9][-_a-z0-9]*)?[a-z0-9]$/
const SYSCTL_PATTERN = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'

export function validatePodSecurityContext(spec: PodSpec, specPath: string, errors: FieldErrors): void {
  const context: PodSecurityContext = spec.securityContext ?? {}
  const path = `${specPath}.securityContext`
  validateId(context.fsGroup, `${path}.fsGroup`, errors)
  validateId(context.runAsUser, `${path}.runAsUser`, errors)
  validateId(context.runAsGroup, `${path}.runAsGroup`, errors)
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
    validateId(group, `${path}.supplementalGroups[${index}]`, errors)
  }
  if (spec.shareProcessNamespace && spec.hostPID) {
    errors.push(
      invalid(`${path}.shareProcessNamespace`, true, 'ShareProcessNamespace and HostPID cannot both be enabled'),
    )
  }
  validateSysctls(spec, context, `${path}.sysctls`, errors)
  validateChoice(context.fsGroupChangePolicy, ['Always', 'OnRootMismatch'], `${path}.fsGroupChangePolicy`, errors)
  validateSeccomp(context.seccompProfile, `${path}.seccompProfile`, errors)
  validateAppArmor(context.appArmorProfile, `${path}.appArmorProfile`, errors)
  validateChoice(context.supplementalGroupsPolicy, ['Merge', 'Strict'], `${path}.supplementalGroupsPolicy`, errors)
  validateChoice(context.seLinuxChangePolicy, ['Recursive'], `${path}.seLinuxChangePolicy`, errors)
  validateWindowsOptions(context.windowsOptions, `${path}.windowsOptions`, errors)
}

const MAX_SYSCTL = 253

function validateSysctls(spec: PodSpec, { sysctls = [] }: PodSecurityContext, path: string, errors: FieldErrors): void {
  const names = new Set<string>()
  for (const [index, { name }] of sysctls.entries()) {
    const field = `${path}[${index}].name`
    if (!name) errors.push(required(field))
    else if (name.length > MAX_SYSCTL || !sysctlName.test(name)) {
      const detail = `must have at most ${MAX_SYSCTL} characters and match regex ${SYSCTL_PATTERN}`
      reject(errors, field, name, [detail])
    } else if (names.has(name)) errors.push({ type: 'FieldValueDuplicate', field, value: name, detail: '' })
    names.add(name)
    if (spec.hostNetwork && name?.startsWith('net.')) {
      errors.push(invalid(field, name, "may not be specified when 'hostNetwork' is true"))
    }
    if (spec.hostIPC && /^(?:kernel\.(?:shm|msg|sem)|fs\.mqueue\.)/.test(name ?? '')) {
      errors.push(invalid(field, name, "may not be specified when 'hostIPC' is true"))
    }
  }
}

const windowsPod = 'cannot be set for a windows pod'
const podFieldsOfLinux = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const
const containerFieldsOfLinux = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const

/** Fields that mean nothing on the pod's operating system. */
export function validateOs(spec: PodSpec, path: string, errors: FieldErrors): void {
  const name = spec.os?.name
  if (spec.os === undefined) return
  const supported = ['linux', 'windows']
  if (!name) errors.push(required(`${path}.os.name`))
  else if (!supported.includes(name)) errors.push(notSupported(`${path}.os`, name, supported))
  const context = spec.securityContext
  const containers = (['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap((list) =>
    (spec[list] ?? []).map(({ securityContext }, index) => ({
      securityContext,
      at: `${path}.${list}[${index}].securityContext`,
    })),
  )
  if (name === 'linux') {
    const detail = 'windows options cannot be set for a linux pod'
    if (context?.windowsOptions) errors.push(forbidden(`${path}.securityContext.windowsOptions`, detail))
    for (const { securityContext, at } of containers) {
      if (securityContext?.windowsOptions) errors.push(forbidden(`${at}.windowsOptions`, detail))
    }
  }
  if (name !== 'windows') return
  for (const field of ['hostUsers', 'hostPID', 'hostIPC', 'shareProcessNamespace'] as const) {
    if (spec[field] !== undefined) errors.push(forbidden(`${path}.${field}`, windowsPod))
  }
  for (const field of podFieldsOfLinux) {
    if (context?.[field] !== undefined) errors.push(forbidden(`${path}.securityContext.${field}`, windowsPod))
  }
  for (const { securityContext, at } of containers) {
    for (const field of containerFieldsOfLinux) {
      if (securityContext?.[field] !== undefined) errors.push(forbidden(`${at}.${field}`, windowsPod))
    }
  }
}
