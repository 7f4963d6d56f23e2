import { forbidden, notSupported, required } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { validateReviewVersions, validateWebhookClientConfig } from '../../validation/webhook-client-config.ts'
import type { CustomResourceConversion } from '../custom-resource-definition.ts'

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
  return config === undefined
    ? [required(path, 'required when strategy is set to Webhook')]
    : validateWebhookClientConfig(config, path).map((error) =>
        // Here upstream does not say what is required.
        error.field.startsWith(`${path}.service.`) && error.type === 'FieldValueRequired'
          ? required(error.field)
          : error,
      )
}
