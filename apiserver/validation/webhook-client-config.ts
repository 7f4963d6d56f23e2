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
  if (!URL.canParse(text)) return validateRelative(text, path)
  const url = new URL(text)
  return urlErrors(path, {
    scheme: url.protocol.slice(0, -1),
    host: url.host,
    user: url.password === '' ? url.username : `${url.username}:${url.password}`,
    fragment: url.hash.slice(1),
    query: url.search.slice(1),
  })
}

interface UrlParts {
  scheme: string
  host: string
  user: string
  fragment: string
  query: string
}

function urlErrors(path: string, { scheme, host, user, fragment, query }: UrlParts): FieldError[] {
  const errors: FieldError[] = []
  if (scheme !== 'https') errors.push(invalid(path, scheme, `'https' is the only allowed URL scheme${urlForm}`))
  if (host === '') errors.push(invalid(path, '', `host must be specified${urlForm}`))
  if (user !== '') errors.push(invalid(path, user, 'user information is not permitted in the URL'))
  if (fragment !== '') errors.push(invalid(path, fragment, 'fragments are not permitted in the URL'))
  if (query !== '') errors.push(invalid(path, query, 'query parameters are not permitted in the URL'))
  return errors
}

/** Refuses what has no scheme: Go reads most texts as the path of a URL. */
function validateRelative(text: string, path: string): FieldError[] {
  const problem = problemOfRelative(text)
  if (problem) return [required(path, `url must be a valid URL: parse ${JSON.stringify(text)}: ${problem}${urlForm}`)]
  const [, host = '', query = '', fragment = ''] =
    /^(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/s.exec(text) ?? []
  return urlErrors(path, { scheme: '', host, user: '', fragment, query })
}

/** Upstream: parse in Go's net/url. */
function problemOfRelative(text: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(text)) return 'invalid URI'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what Go refuses
  if (/[\0-\x1f\x7f]/.test(text)) return 'net/url: invalid control character in URL'
  if (text.startsWith(':')) return 'missing protocol scheme'
  if (/^[^/?#]*:/.test(text)) return 'first path segment in URL cannot contain colon'
  const wrong = /%(?![0-9a-f]{2}).{0,2}/i.exec(text.replace(/[?#].*/s, ''))
  return wrong ? `invalid URL escape ${JSON.stringify(wrong[0])}` : undefined
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
