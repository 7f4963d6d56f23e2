/** Validates what containers on Windows run as. */
import type { Container, PodSpec } from '../../../../shared/api/types.ts'
import { invalid } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dns1123Subdomain } from '../../../validation/names.ts'
import { reject } from '../messages.ts'

type Options = NonNullable<Container['securityContext']>['windowsOptions']

const MAX_SPEC_KIB = 64
const MAX_DOMAIN = 256
const MAX_USER = 104

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const control = /[\u0000-\u001f\u007f]/
const netBios = /^[^\\/:*?|"<>|.][^\\/:*?|"<>|]{0,14}$/
const dnsDomain = /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/

/** Validates the Windows options of a security context. Upstream: validateWindowsSecurityContextOptions. */
export function validateWindowsOptions(options: Options, path: string, errors: FieldErrors): void {
  if (!options) return
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: spec, runAsUserName: user } = options
  if (name !== undefined) reject(errors, `${path}.gmsaCredentialSpecName`, name, dns1123Subdomain(name))
  const field = `${path}.gmsaCredentialSpec`
  if (spec === '') errors.push(invalid(field, spec, 'gmsaCredentialSpec cannot be an empty string'))
  if (spec !== undefined && Buffer.byteLength(spec) > MAX_SPEC_KIB * 1024)
    errors.push(invalid(field, spec, `gmsaCredentialSpec size must be under ${MAX_SPEC_KIB} KiB`))
  if (user !== undefined)
    reject(
      errors,
      `${path}.runAsUserName`,
      user,
      userMessages(user).map((text) => `runAsUserName${text}`),
    )
}

/** `DOMAIN\\user` or `user`. */
function userMessages(name: string): string[] {
  if (name === '') return [' cannot be an empty string']
  if (control.test(name)) return [' cannot contain control characters']
  const parts = name.split('\\')
  if (parts.length > 2) return [' cannot contain more than one backslash']
  const user = parts.at(-1)!
  const domain = parts.length === 2 ? parts[0]! : undefined
  const size = Buffer.byteLength(user)
  return [
    ...(Buffer.byteLength(domain ?? '') >= MAX_DOMAIN
      ? [`'s Domain length must be under ${MAX_DOMAIN} characters`]
      : []),
    ...(domain !== undefined && !netBios.test(domain) && !dnsDomain.test(domain)
      ? ["'s Domain doesn't match the NetBios nor the DNS format"]
      : []),
    ...(size === 0 ? ["'s User cannot be empty"] : []),
    ...(size > MAX_USER ? [`'s User length must not be longer than ${MAX_USER} characters`] : []),
    ...(/^[. ]+$/.test(user) ? ["'s User cannot contain only periods or spaces"] : []),
    ...(/["/\\:;|=,+*?<>@[\]]/.test(user)
      ? ['\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]']
      : []),
  ]
}

/** Either all containers are processes of the host, in its network, or none is. */
export function validateHostProcess(spec: PodSpec, path: string, errors: FieldErrors): void {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess
  let all = 0
  let ofHost = 0
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [index, { securityContext }] of (spec[list] ?? []).entries()) {
      all++
      const own = securityContext?.windowsOptions?.hostProcess
      if (ofPod !== undefined && own !== undefined && ofPod !== own) {
        const detail = `pod hostProcess value must be identical if both are specified, was ${ofPod}`
        errors.push(invalid(`${path}.${list}[${index}].securityContext.windowsOptions.hostProcess`, own, detail))
      }
      if (own ?? ofPod) ofHost++
    }
  }
  if (ofHost === 0) return
  if (ofHost !== all)
    errors.push(
      invalid(
        path,
        '',
        'If pod contains any hostProcess containers then all containers must be HostProcess containers',
      ),
    )
  if (!spec.hostNetwork)
    errors.push(
      invalid(`${path}.hostNetwork`, false, 'hostNetwork must be true if pod contains any hostProcess containers'),
    )
}
