import { isIP } from 'node:net'
import type { ObjectMeta } from '../../../shared/api/types.ts'
import { invalid } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'

const ranges: [RegExp, string][] = [
  [/^0\.0\.0\.0$/, 'may not be unspecified (0.0.0.0)'],
  [/^::$/, 'may not be unspecified (::)'],
  // Pods have addresses from 127.64.0.0/10 here.
  [/^(127\.(?!(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)|::1$)/, 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [/^(169\.254\.|fe[89ab][0-9a-f]:)/i, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  [/^(224\.0\.0\.|ff02:)/i, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
]

/** Endpoints of this API server, which may listen on a loopback address only. */
export const isApiServer = ({ namespace, name }: ObjectMeta): boolean =>
  namespace === 'default' && name === 'kubernetes'

/** Addresses that mean something else on each machine cannot be endpoints. */
export function validateSpecialAddress(address: string, field: string, errors: FieldErrors): void {
  if (isIP(address) === 0 || address.includes('%')) {
    if (!isAddressWithZeros(address)) errors.push(invalid(field, address, 'must be a valid IP address'))
    return
  }
  for (const [range, detail] of ranges) if (range.test(address)) errors.push(invalid(field, address, detail))
}

/** Go's older parser takes leading zeros: `010.1.2.3`. */
const isAddressWithZeros = (address: string): boolean => isIP(address.replaceAll(/(^|\.)0+(?=\d)/g, '$1')) === 4
