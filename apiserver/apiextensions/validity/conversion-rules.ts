import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { dns1035Label } from '../../validation/names.ts'
import type { CustomResourceConversion } from '../custom-resource-definition.ts'

const REVIEW_VERSIONS = ['v1', 'v1beta1']
const URL_FORM = '; desired format: https://host[/path]'

export function validateConversion(conversion: CustomResourceConversion | undefined, path: string): FieldError[] {
  if (conversion === undefined) return []
  const { strategy, webhook } = conversion
  const errors: FieldError[] = []
  if (!strategy) errors.push(required(`${path}.strategy`))
  else if (strategy !== 'None' && strategy !== 'Webhook')
    errors.push(notSupported(`${path}.strategy`, strategy, ['None', 'Webhook']))
  if (strategy === 'Webhook')
    return [
      ...errors,
      ...validateClientConfig(webhook, `${path}.webhookClientConfig`),
      ...validateReviewVersions(webhook?.conversionReviewVersions ?? [], `${path}.conversionReviewVersions`),
    ]
  const unwanted = 'should not be set when strategy is not set to Webhook'
  if (webhook?.clientConfig !== undefined) errors.push(forbidden(`${path}.webhookClientConfig`, unwanted))
  if ((webhook?.conversionReviewVersions ?? []).length > 0)
    errors.push(forbidden(`${path}.conversionReviewVersions`, unwanted))
  return errors
}

function validateClientConfig(webhook: CustomResourceConversion['webhook'], path: string): FieldError[] {
  const config = webhook?.clientConfig
  if (config === undefined) return [required(path, 'required when strategy is set to Webhook')]
  if ((config.url === undefined) === (config.service === undefined))
    return [required(path, 'exactly one of url or service is required')]
  return config.url === undefined
    ? validateService(config.service ?? { namespace: '', name: '' }, `${path}.service`)
    : validateUrl(config.url, `${path}.url`)
}

function validateService(
  service: { namespace: string; name: string; path?: string; port?: number },
  path: string,
): FieldError[] {
  const port = service.port ?? 443
  return [
    ...(service.name ? [] : [required(`${path}.name`, 'service name is required')]),
    ...(service.namespace ? [] : [required(`${path}.namespace`, 'service namespace is required')]),
    ...(port >= 1 && port <= 65_535
      ? []
      : [invalid(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive')]),
    ...(service.path === undefined || service.path.startsWith('/')
      ? []
      : [invalid(`${path}.path`, service.path, "must start with a '/'")]),
  ]
}

function validateUrl(text: string, path: string): FieldError[] {
  if (!URL.canParse(text))
    return [required(path, `url must be a valid URL: parse ${JSON.stringify(text)}: invalid URI${URL_FORM}`)]
  const url = new URL(text)
  const errors: FieldError[] = []
  if (url.protocol !== 'https:')
    errors.push(invalid(path, url.protocol.slice(0, -1), `'https' is the only allowed URL scheme${URL_FORM}`))
  if (url.host === '') errors.push(invalid(path, '', `host must be specified${URL_FORM}`))
  if (url.username !== '') errors.push(invalid(path, url.username, 'user information is not permitted in the URL'))
  if (url.hash !== '') errors.push(invalid(path, url.hash.slice(1), 'fragments are not permitted in the URL'))
  if (url.search !== '')
    errors.push(invalid(path, url.search.slice(1), 'query parameters are not permitted in the URL'))
  return errors
}

function validateReviewVersions(versions: string[], path: string): FieldError[] {
  if (versions.length === 0) return [required(path)]
  const errors = versions.flatMap((version, index) =>
    versions.indexOf(version) < index
      ? [invalid(`${path}[${index}]`, version, 'duplicate version')]
      : dns1035Label(version).map((message) => invalid(`${path}[${index}]`, version, message)),
  )
  if (!versions.some((version) => REVIEW_VERSIONS.includes(version)))
    errors.push(invalid(path, versions, `must include at least one of ${REVIEW_VERSIONS.join(', ')}`))
  return errors
}
