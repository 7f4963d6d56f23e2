import type { V1LimitRangeItem } from '@kubernetes/client-node'
import { ownValue } from '../../../shared/api/json/own-value.ts'
import { compareQuantities, roundUpAmounts } from '../../../shared/api/quantities/quantity.ts'
import type { ObjectMeta, Wire } from '../../../shared/api/types.ts'
import { duplicate, forbidden, invalid, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { qualifiedName } from '../../validation/names.ts'
import { validateContainerResourceName, validateResourceName } from '../parts/container-resource-names.ts'
import { reject } from '../parts/messages.ts'
import { plain } from '../parts/plain.ts'

type Limit = Omit<Wire<V1LimitRangeItem>, '_default'> & { default?: Amounts }
type Amounts = Record<string, string>
interface LimitRange {
  metadata: ObjectMeta
  spec?: { limits: Limit[] }
}

export const limitrange = plain<LimitRange>({
  group: '',
  kind: 'LimitRange',
  plural: 'limitranges',
  namespaced: true,
  shortNames: ['limits'],
  strategy: {
    applyDefaults({ spec }) {
      for (const limit of spec?.limits ?? []) {
        const { max, min, default: given, defaultRequest, maxLimitRequestRatio } = limit
        for (const amounts of [max, min, given, defaultRequest, maxLimitRequestRatio]) roundUpAmounts(amounts)
        if (limit.type === 'Container') defaultContainerLimit(limit)
      }
    },
    begin(object, old) {
      if (!old) object.metadata.name ||= object.metadata.generateName ? undefined : object.metadata.uid
    },
    validate,
    validateUpdate: (object, _old, errors) => validate(object, errors),
    allowCreateOnUpdate: true,
  },
  example: { metadata: { name: 'small' }, spec: { limits: [{ type: 'Container', max: { cpu: '1' } }] } },
})

/** Completes a limit: `default` is `max` where it is absent, and `defaultRequest` is `default`, or else `min`. */
function defaultContainerLimit(limit: Limit): void {
  const filled = (given: Amounts | undefined, from: Amounts | undefined) => ({ ...from, ...given })
  const orUnset = (amounts: Amounts) => (Object.keys(amounts).length > 0 ? amounts : undefined)
  const limits = filled(limit.default, limit.max)
  const requests = filled(filled(limit.defaultRequest, undefined), { ...limit.min, ...limits })
  limit.default = orUnset(limits)
  limit.defaultRequest = orUnset(requests)
}

function validate({ spec }: LimitRange, errors: FieldErrors): void {
  const seen = new Set<string>()
  for (const [index, limit] of (spec?.limits ?? []).entries()) {
    const at = `spec.limits[${index}]`
    validateType(limit.type, `${at}.type`, errors)
    if (seen.has(limit.type)) errors.push(duplicate(`${at}.type`, limit.type))
    seen.add(limit.type)
    validateLimit(limit, at, errors)
  }
}

const types = ['Pod', 'Container', 'PersistentVolumeClaim']
function validateType(type: string, at: string, errors: FieldErrors): void {
  const messages = qualifiedName(type)
  reject(errors, at, type, messages)
  if (messages.length === 0 && !type.includes('/') && !types.includes(type))
    errors.push(invalid(at, type, 'must be a standard limit type or fully qualified'))
}

const isOfContainers = ({ type }: Limit): boolean => type === 'Pod' || type === 'Container'

function validateLimit(limit: Limit, at: string, errors: FieldErrors): void {
  const { max = {}, min = {}, maxLimitRequestRatio: ratios = {} } = limit
  const validateName = isOfContainers(limit) ? validateContainerResourceName : validateResourceName
  const validateNames = (...fields: ('max' | 'min' | 'default' | 'defaultRequest' | 'maxLimitRequestRatio')[]) => {
    for (const field of fields)
      for (const name of Object.keys(limit[field] ?? {})) validateName(name, `${at}.${field}[${name}]`, errors)
  }
  validateNames('max', 'min')
  const isPod = limit.type === 'Pod'
  const defaults: Amounts = isPod ? {} : (limit.default ?? {})
  const requests: Amounts = isPod ? {} : (limit.defaultRequest ?? {})
  if (isPod) {
    for (const [field, amounts] of [
      ['default', limit.default],
      ['defaultRequest', limit.defaultRequest],
    ] as const)
      if (Object.keys(amounts ?? {}).length > 0)
        errors.push(forbidden(`${at}.${field}`, "may not be specified when `type` is 'Pod'"))
  } else validateNames('default', 'defaultRequest')
  if (limit.type === 'PersistentVolumeClaim' && min.storage === undefined && max.storage === undefined)
    errors.push(
      required(`${at}.limits`, 'either minimum or maximum storage value is required, but neither was provided'),
    )
  validateNames('maxLimitRequestRatio')
  const names = new Set([max, min, defaults, requests, ratios].flatMap((amounts) => Object.keys(amounts)))
  const above = (a: string | undefined, b: string | undefined) =>
    a !== undefined && b !== undefined && compareQuantities(a, b) > 0
  for (const name of [...names].sort()) {
    const [high, low, given, asked] = [max, min, defaults, requests].map((amounts) => ownValue(amounts, name))
    const refuse = (field: string, value: string | undefined, detail: string) =>
      errors.push(invalid(`${at}.${field}[${name}]`, value, detail))
    if (above(low, high)) refuse('min', low, `min value ${low} is greater than max value ${high}`)
    if (above(low, asked))
      refuse('defaultRequest', asked, `min value ${low} is greater than default request value ${asked}`)
    if (above(asked, high))
      refuse('defaultRequest', asked, `default request value ${asked} is greater than max value ${high}`)
    if (above(asked, given))
      refuse('defaultRequest', asked, `default request value ${asked} is greater than default limit value ${given}`)
    if (above(low, given)) refuse('default', low, `min value ${low} is greater than default value ${given}`)
    if (above(given, high)) refuse('default', high, `default value ${given} is greater than max value ${high}`)
    const ratio = ownValue(ratios, name)
    if (ratio !== undefined && compareQuantities(ratio, '1') < 0)
      refuse('maxLimitRequestRatio', ratio, `ratio ${ratio} is less than 1`)
  }
}
