import { required, tooLong } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dns1123Subdomain } from '../../validation/names.ts'
import { reject } from './messages.ts'

const MAX_BYTES = 63

/** Name of a CSI driver; capital letters are allowed. Upstream: ValidateCSIDriverName. */
export function validateDriverName(name: string | undefined, field: string, errors: FieldErrors): void {
  if (!name) {
    errors.push(required(field))
    return
  }
  if (name.length > MAX_BYTES) errors.push(tooLong(field, MAX_BYTES))
  reject(errors, field, name, dns1123Subdomain(name.toLowerCase()))
}
