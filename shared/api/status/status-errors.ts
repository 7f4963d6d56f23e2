import { type StatusCause, StatusError } from './status-error.ts'

/** The errors of Kubernetes' own machinery, word for word: clients match on reasons, people on texts. */

export interface GroupResource {
  group: string
  plural: string
}
export interface GroupKind {
  group: string
  kind: string
}

export const qualified = ({ group, plural }: GroupResource): string => (group ? `${plural}.${group}` : plural)

const details = ({ group, plural }: GroupResource, name: string) => ({
  ...(name && { name }),
  ...(group && { group }),
  kind: plural,
})

export const badRequest = (message: string): StatusError =>
  new StatusError({ code: 400, reason: 'BadRequest', message })

export const unauthorized = (): StatusError =>
  new StatusError({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' })

export const forbidden = (
  resource: GroupResource,
  name: string,
  why: string,
  extra: { causes?: StatusCause[] } = {},
): StatusError =>
  new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: `${qualified(resource)} ${name ? `"${name}" ` : ''}is forbidden: ${why}`,
    details: { ...details(resource, name), ...extra },
  })

/** Returns the error for a name that upstream's store has no key for; undefined for other names. */
export function nameWithoutKey(name: string): StatusError | undefined {
  const isStep = name === '.' || name === '..'
  if (!isStep && !name.includes('%')) return undefined
  return badRequest(`Name parameter invalid: "${name}": ${isStep ? `may not be '${name}'` : "may not contain '%'"}`)
}

export const notFound = (resource: GroupResource, name: string): StatusError =>
  nameWithoutKey(name) ??
  new StatusError({
    code: 404,
    reason: 'NotFound',
    message: `${qualified(resource)} "${name}" not found`,
    details: details(resource, name),
  })

/** A path under a served group that leads nowhere. */
export const resourceNotFound = (): StatusError =>
  new StatusError({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  })

export const methodNotAllowed = (): StatusError =>
  new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'the server does not allow this method on the requested resource',
    details: {},
  })

/** The resource exists, but not with this verb. */
export const methodNotSupported = (resource: GroupResource, verb: string): StatusError =>
  new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: `${verb} is not supported on resources of kind "${qualified(resource)}"`,
    details: details(resource, ''),
  })

export const notAcceptable = (message: string): StatusError =>
  new StatusError({ code: 406, reason: 'NotAcceptable', message })

/** Returns the error with which the router refuses a request before any handler runs. */
export const notAcceptableRoute = (message: string): StatusError =>
  new StatusError({ code: 406, reason: 'NotAcceptable', message: `406: Not Acceptable\n\n${message}`, details: {} })

export const unsupportedMediaTypeRoute = (): StatusError =>
  new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: '415: Unsupported Media Type',
    details: {},
  })

export const alreadyExists = (resource: GroupResource, name: string, prefix = ''): StatusError =>
  new StatusError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${prefix}${qualified(resource)} "${name}" already exists`,
    details: details(resource, name),
  })

export const generatedNameTaken = (resource: GroupResource, name: string, prefix = ''): StatusError =>
  new StatusError(
    {
      code: 409,
      reason: 'AlreadyExists',
      message: `${prefix}${qualified(resource)} "${name}" already exists, the server was not able to generate a unique name for the object`,
      details: { ...details(resource, name), retryAfterSeconds: 1 },
    },
    { 'retry-after': '1' },
  )

export const conflict = (resource: GroupResource, name: string, why: string): StatusError =>
  new StatusError({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`,
    details: details(resource, name),
  })

export const modified = (resource: GroupResource, name: string): StatusError =>
  conflict(
    resource,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  )

export const expired = (message: string, metadata: Record<string, unknown> = {}): StatusError => {
  const error = new StatusError({ code: 410, reason: 'Expired', message })
  error.status.metadata = metadata
  return error
}

export const requestEntityTooLarge = (message: string): StatusError =>
  new StatusError({ code: 413, reason: 'RequestEntityTooLarge', message })

export const unsupportedMediaType = (message: string): StatusError =>
  new StatusError({ code: 415, reason: 'UnsupportedMediaType', message })

/** A 429; `retryAfterSeconds` 0 leaves it to the client when to come again. */
export const tooManyRequests = (message: string, retryAfterSeconds: number, causes: StatusCause[]): StatusError =>
  new StatusError(
    {
      code: 429,
      reason: 'TooManyRequests',
      message,
      details: { ...(retryAfterSeconds && { retryAfterSeconds }), causes },
    },
    retryAfterSeconds ? { 'retry-after': `${retryAfterSeconds}` } : {},
  )

/** A 422 with its causes; `message` is what stands after `is invalid: `. */
export const invalid = (subject: GroupKind, name: string, message: string, causes: StatusCause[]): StatusError =>
  new StatusError({
    code: 422,
    reason: 'Invalid',
    message: `${subject.group ? `${subject.kind}.${subject.group}` : subject.kind} "${name}" is invalid: ${message}`,
    details: {
      ...(name && { name }),
      ...(subject.group && { group: subject.group }),
      ...(subject.kind && { kind: subject.kind }),
      causes,
    },
  })

/** Failures that a real server answers without a reason, e.g. a resourceVersion that is no number. */
export const plainError = (message: string): StatusError => new StatusError({ code: 500, message })

export const internalError = (message: string): StatusError =>
  new StatusError({
    code: 500,
    reason: 'InternalError',
    message: `Internal error occurred: ${message}`,
    details: { causes: [{ message }] },
  })

export const timeout = (
  message: string,
  { causes, retryAfterSeconds = 0 }: { causes?: StatusCause[]; retryAfterSeconds?: number } = {},
): StatusError =>
  new StatusError(
    {
      code: 504,
      reason: 'Timeout',
      message: `Timeout: ${message}`,
      details: { ...(causes && { causes }), ...(retryAfterSeconds && { retryAfterSeconds }) },
    },
    retryAfterSeconds ? { 'retry-after': `${retryAfterSeconds}` } : {},
  )

export const resourceVersionTooLarge = (asked: number, current: number, retryAfterSeconds = 1): StatusError =>
  timeout(`Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds,
  })
