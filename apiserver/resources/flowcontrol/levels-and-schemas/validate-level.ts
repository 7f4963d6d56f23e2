/** Validates a PriorityLevelConfiguration. Upstream: pkg/apis/flowcontrol/validation. */
import type { V1PriorityLevelConfigurationSpec } from '@kubernetes/client-node'
import type { Wire } from '../../../../shared/api/types.ts'
import { forbidden, invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { validateMandatory } from './mandatory.ts'

type Spec = Wire<V1PriorityLevelConfigurationSpec>
type Limited = NonNullable<Spec['limited']>
type Queuing = NonNullable<NonNullable<Limited['limitResponse']>['queuing']>

const types = ['Exempt', 'Limited']
const responses = ['Queue', 'Reject']
const MAX_QUEUES = 10_000_000
/** Bits of the hash from which upstream's shuffle sharding draws a hand. */
const MAX_ENTROPY = 60

export function validateLevel(name: string | undefined, spec: Spec | undefined, errors: FieldErrors): void {
  const { type = '', exempt, limited } = spec ?? {}
  if ((name === 'exempt') !== (type === 'Exempt'))
    errors.push(invalid('spec.type', type, "must be 'Exempt' if and only if `name` is 'exempt'"))
  if (type === 'Exempt') {
    if (limited) errors.push(forbidden('spec.limited', 'must be nil if the type is not Limited'))
    if (exempt) validateShares(exempt, 'spec.exempt', errors)
  } else if (type === 'Limited') {
    if (exempt) errors.push(forbidden('spec.exempt', 'must be nil if the type is Limited'))
    if (limited) validateLimited(limited, errors)
    else errors.push(required('spec.limited', 'must not be empty when type is Limited'))
  } else errors.push(type === '' ? required('spec.type') : notSupported('spec.type', type, types))
  validateMandatory('PriorityLevelConfiguration', name, spec, errors)
}

interface Shares {
  nominalConcurrencyShares?: number
  lendablePercent?: number
}
function validateShares(
  { nominalConcurrencyShares: shares, lendablePercent }: Shares,
  at: string,
  errors: FieldErrors,
) {
  if (shares !== undefined && shares < 0)
    errors.push(invalid(`${at}.nominalConcurrencyShares`, shares, 'must be a non-negative integer'))
  validateLendable(lendablePercent, at, errors)
}

function validateLendable(percent: number | undefined, at: string, errors: FieldErrors): void {
  if (percent !== undefined && (percent < 0 || percent > 100))
    errors.push(invalid(`${at}.lendablePercent`, percent, 'must be between 0 and 100, inclusive'))
}

function validateLimited(limited: Limited, errors: FieldErrors): void {
  const at = 'spec.limited'
  const { nominalConcurrencyShares, lendablePercent, borrowingLimitPercent: borrowed } = limited
  validateShares({ ...(nominalConcurrencyShares !== undefined && { nominalConcurrencyShares }) }, at, errors)
  const { type = '', queuing } = limited.limitResponse ?? {}
  const field = `${at}.limitResponse`
  if (type === 'Reject') {
    if (queuing) errors.push(forbidden(`${field}.queuing`, 'must be nil if limited.limitResponse.type is not Limited'))
  } else if (type === 'Queue') {
    if (queuing) validateQueuing(queuing, `${field}.queuing`, errors)
    else errors.push(required(`${field}.queuing`, 'must not be empty if limited.limitResponse.type is Limited'))
  } else errors.push(type === '' ? required(`${field}.type`) : notSupported(`${field}.type`, type, responses))
  validateLendable(lendablePercent, at, errors)
  if (borrowed !== undefined && borrowed < 0)
    errors.push(invalid(`${at}.borrowingLimitPercent`, borrowed, 'if specified, must be a non-negative integer'))
}

function validateQueuing({ queueLengthLimit = 0, queues = 0, handSize = 0 }: Queuing, at: string, errors: FieldErrors) {
  if (queueLengthLimit <= 0) errors.push(invalid(`${at}.queueLengthLimit`, queueLengthLimit, 'must be positive'))
  if (queues <= 0) errors.push(invalid(`${at}.queues`, queues, 'must be positive'))
  else if (queues > MAX_QUEUES) errors.push(invalid(`${at}.queues`, queues, `must not be greater than ${MAX_QUEUES}`))
  const field = `${at}.handSize`
  if (handSize <= 0) errors.push(invalid(field, handSize, 'must be positive'))
  else if (handSize > queues) errors.push(invalid(field, handSize, `should not be greater than queues (${queues})`))
  else if (entropyBits(queues, handSize) > MAX_ENTROPY)
    errors.push(
      invalid(
        field,
        handSize,
        `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${MAX_ENTROPY}`,
      ),
    )
}

/** Returns the entropy of a hand that is drawn from a deck without laying back. */
const entropyBits = (deck: number, hand: number): number =>
  Math.ceil(Math.log2(Array.from({ length: hand }, (_, drawn) => deck - drawn).reduce((ways, left) => ways * left, 1)))
