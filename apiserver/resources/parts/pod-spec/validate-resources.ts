/** Requests and limits of containers and pods. */

import {
  compareQuantities,
  isNegativeQuantity,
  isWholeQuantity,
  parseQuantity,
} from '../../../../shared/api/quantities/quantity.ts'
import { containerResources } from '../../../../shared/api/quantities/resource-list.ts'
import type { Container, PodSpec } from '../../../../shared/api/types.ts'
import { duplicate, forbidden, invalid, notFound, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import {
  canOvercommit,
  HUGE_PAGES,
  isExtended,
  isHugePage,
  validateContainerResourceName,
  validateResourceName,
} from '../container-resource-names.ts'
import { counted } from '../counted-resources.ts'
import { NOT_NEGATIVE } from '../messages.ts'

type Resources = NonNullable<Container['resources']>
type Amounts = Record<string, string>

function validateQuantity(name: string, quantity: string, field: string, errors: FieldErrors): void {
  if (isNegativeQuantity(quantity)) errors.push(invalid(field, quantity, NOT_NEGATIVE))
  if ((counted.has(name) || isExtended(name)) && !isWholeQuantity(quantity)) {
    errors.push(invalid(field, quantity, 'must be an integer'))
  }
}

/** `hugepages-2Mi` takes a whole number of 2 Mi pages. */
function validateHugePages(name: string, quantity: string, field: string, errors: FieldErrors): void {
  if (!isHugePage(name)) return
  const pageSize = name.slice(HUGE_PAGES.length)
  try {
    const size = parseQuantity(pageSize).nano
    if (size > 0n && parseQuantity(quantity).nano % size === 0n) return
  } catch {
    // A size that is no quantity is never met.
  }
  errors.push(invalid(field, quantity, `${quantity} is not positive integer multiple of ${name}`))
}

export function validateResources(
  resources: Resources,
  podClaims: ReadonlySet<string>,
  path: string,
  errors: FieldErrors,
  validateName = validateContainerResourceName,
): void {
  const limits: Amounts = resources.limits ?? {}
  const requests: Amounts = resources.requests ?? {}
  for (const [name, quantity] of Object.entries(limits)) {
    const field = `${path}.limits[${name}]`
    validateName(name, field, errors)
    validateQuantity(name, quantity, field, errors)
    validateHugePages(name, quantity, field, errors)
  }
  for (const [name, quantity] of Object.entries(requests)) {
    const field = `${path}.requests[${name}]`
    validateName(name, field, errors)
    validateQuantity(name, quantity, field, errors)
    validateAgainstLimit(name, quantity, limits, `${path}.requests`, errors)
    validateHugePages(name, quantity, field, errors)
  }
  validateHugePagesNeedOthers({ ...limits, ...requests }, path, errors)
  validateClaims(resources, podClaims, `${path}.claims`, errors)
}

function validateAgainstLimit(
  name: string,
  request: string,
  limits: Amounts,
  field: string,
  errors: FieldErrors,
): void {
  const limit = amountOf(limits, name)
  if (limit !== undefined) {
    const order = compareQuantities(request, limit)
    if (order !== 0 && !canOvercommit(name)) {
      errors.push(invalid(field, request, `must be equal to ${name} limit of ${limit}`))
    } else if (order > 0) {
      errors.push(invalid(field, request, `must be less than or equal to ${name} limit of ${limit}`))
    }
  } else if (!canOvercommit(name)) {
    errors.push(
      required(`${field.replace(/\.requests$/, '')}.limits`, 'Limit must be set for non overcommitable resources'),
    )
  }
}

/** Names come from outside: `constructor` is one like any other. */
const amountOf = (amounts: Amounts | undefined, name: string): string | undefined =>
  amounts && Object.hasOwn(amounts, name) ? amounts[name] : undefined

function validateHugePagesNeedOthers(all: Amounts, path: string, errors: FieldErrors): void {
  const names = Object.keys(all)
  if (names.some(isHugePage) && !names.includes('cpu') && !names.includes('memory')) {
    errors.push(forbidden(path, 'HugePages require cpu or memory'))
  }
}

function validateClaims(resources: Resources, podClaims: ReadonlySet<string>, path: string, errors: FieldErrors): void {
  const seen = new Set<string>()
  for (const [index, claim] of (resources.claims ?? []).entries()) {
    const field = `${path}[${index}]`
    if (!claim.name) {
      errors.push(required(field))
      continue
    }
    const key = `${claim.name}/${claim.request ?? ''}`
    if (seen.has(key)) errors.push(duplicate(field, claim.request ? key : claim.name))
    seen.add(key)
    if (podClaims.has(claim.name)) continue
    const known = [...podClaims].sort()
    const detail =
      known.length === 0
        ? 'must be one of the names in pod.spec.resourceClaims which is empty'
        : `must be one of the names in pod.spec.resourceClaims: ${known.join(', ')}`
    errors.push(notFound(field, claim.name, detail))
  }
}

const podLevel = ['cpu', 'hugepages-', 'memory']

function validatePodResourceName(name: string, field: string, errors: FieldErrors): void {
  if (validateResourceName(name, field, errors) && !podLevel.includes(name) && !isHugePage(name))
    errors.push(notSupported(field, name, podLevel))
}

export function validatePodLevelResources(
  spec: PodSpec,
  podClaims: ReadonlySet<string>,
  path: string,
  errors: FieldErrors,
): void {
  const { resources } = spec
  if (!resources) return
  if (spec.os?.name === 'windows') {
    errors.push(forbidden(path, 'may not be set for a windows pod'))
    return
  }
  if (resources.claims) errors.push(forbidden(`${path}.claims`, 'claims may not be set for Resources at pod-level'))
  validateResources(resources, podClaims, path, errors, validatePodResourceName)
  validatePodLevelConsistency(spec, path, errors)
}

function validatePodLevelConsistency(spec: PodSpec, path: string, errors: FieldErrors): void {
  for (const list of ['requests', 'limits'] as const) {
    for (const [name, total] of Object.entries(containerResources(spec, list))) {
      const own = amountOf(spec.resources?.[list], name)
      if (own === undefined || compareQuantities(total, own) <= 0) continue
      if (list === 'limits' && !isHugePage(name)) continue
      const detail = `must be greater than or equal to aggregate container ${list} of ${total}`
      errors.push(invalid(`${path}.${list}[${name}]`, own, detail))
    }
  }
  for (const [index, { resources }] of (spec.containers ?? []).entries()) {
    for (const [name, limit] of Object.entries(resources?.limits ?? {})) {
      const own = amountOf(spec.resources?.limits, name)
      if (own !== undefined && compareQuantities(limit, own) > 0) {
        errors.push(
          invalid(
            `${path}.containers[${index}][${name}].limits`,
            limit,
            `must be less than or equal to pod limits of ${own}`,
          ),
        )
      }
    }
  }
}
