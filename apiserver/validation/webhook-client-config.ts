/** Where a webhook is, and how it is spoken to. Upstream: apiserver/pkg/util/webhook/validation.go. */

import { invalid, required } from './field-error.ts'
import type { FieldError } from './field-errors.ts'
import { dns1035Label, dns1123Subdomain } from './names.ts'
import { repetition } from './repetition.ts'
import { reviewVersions } from './review-version.ts'

const urlForm = '; desired format: https://host[/path]'
const maxPort = 65_535

interface Service {
  namespace: string
  name: string
  path?: string
  port?: number
}

export function validateWebhookClientConfig(
  { url, service }: { url?: string; service?: Service },
  path: string,
): FieldError[] {
  if ((url === undefined) === (service === undefined))
    return [required(path, 'exactly one of url or service is required')]
  return url === undefined
    ? validateService(service ?? { namespace: '', name: '' }, `${path}.service`)
    : validateUrl(url, `${path}.url`)
}

function validateService({ name, namespace, path: servicePath = '', port = 443 }: Service, path: string): FieldError[] {
  return [
    // Upstream takes one for the other, and names the other field.
    ...(namespace ? [] : [required(`${path}.name`)]),
    ...(name ? [] : [required(`${path}.namespace`)]),
    ...(port >= 1 && port <= maxPort
      ? []
      : [invalid(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive')]),
    ...pathProblems(servicePath).map((problem) => invalid(`${path}.path`, servicePath, problem)),
  ]
}

function pathProblems(path: string): string[] {
  if (path === '' || path === '/') return []
  if (path === '//') return ['segment[0] may not be empty']
  const segments = path.slice(1).replace(/\/$/, '').split('/')
  return [
    ...(path.startsWith('/') ? [] : ["must start with a '/'"]),
    ...segments.flatMap((segment, index) =>
      segment === ''
        ? [`segment[${index}] may not be empty`]
        : dns1123Subdomain(segment).map((problem) => `segment[${index}]: ${problem}`),
    ),
  ]
}

function validateUrl(text: string, path: string): FieldError[] {
  if (!URL.canParse(text))
    return [required(path, `url must be a valid URL: parse ${JSON.stringify(text)}: invalid URI${urlForm}`)]
  const url = new URL(text)
  const errors: FieldError[] = []
  if (url.protocol !== 'https:')
    errors.push(invalid(path, url.protocol.slice(0, -1), `'https' is the only allowed URL scheme${urlForm}`))
  if (url.host === '') errors.push(invalid(path, '', `host must be specified${urlForm}`))
  if (url.username !== '') errors.push(invalid(path, url.username, 'user information is not permitted in the URL'))
  if (url.hash !== '') errors.push(invalid(path, url.hash.slice(1), 'fragments are not permitted in the URL'))
  if (url.search !== '')
    errors.push(invalid(path, url.search.slice(1), 'query parameters are not permitted in the URL'))
  return errors
}

/** Versions of the reviews that it understands. */
export function validateReviewVersions(versions: readonly string[], path: string, whenNone = ''): FieldError[] {
  if (versions.length === 0) return [required(path, whenNone)]
  const isRepeated = repetition()
  const errors = versions.flatMap((version, index) =>
    isRepeated(version)
      ? [invalid(`${path}[${index}]`, version, 'duplicate version')]
      : dns1035Label(version).map((message) => invalid(`${path}[${index}]`, version, message)),
  )
  if (!versions.some((version) => reviewVersions.includes(version)))
    errors.push(invalid(path, versions, `must include at least one of ${reviewVersions.join(', ')}`))
  return errors
}
