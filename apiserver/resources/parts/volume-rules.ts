/** Rules that volumes and their claims share. */
import { isNegativeQuantity, isZeroQuantity } from '../../../shared/api/quantities/quantity.ts'
import { forbidden, invalid, notSupported } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const volumeModes = ['Block', 'Filesystem']
export const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
]

export function validateAccessModes(modes: string[], field: string, errors: FieldErrors): void {
  for (const mode of modes) if (!accessModes.includes(mode)) errors.push(notSupported(field, mode, accessModes))
  const known = new Set(modes.filter((mode) => accessModes.includes(mode)))
  if (known.has('ReadWriteOncePod') && known.size > 1)
    errors.push(forbidden(field, 'may not use ReadWriteOncePod with other access modes'))
}

export function validateVolumeMode(mode: string | undefined, field: string, errors: FieldErrors): void {
  if (mode !== undefined && !volumeModes.includes(mode)) errors.push(notSupported(field, mode, volumeModes))
}

export function validatePositive(quantity: string, field: string, errors: FieldErrors): void {
  if (isNegativeQuantity(quantity) || isZeroQuantity(quantity))
    errors.push(invalid(field, quantity, 'must be greater than zero'))
}

const abbreviations: [string, string][] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]
/** Returns the access modes in the short form of table cells: `RWO,ROX`. */
export const accessModesText = (modes: string[] = []): string =>
  abbreviations
    .filter(([mode]) => modes.includes(mode))
    .map(([, text]) => text)
    .join(',')

export const orUnset = (text: string | undefined): string => text || '<unset>'
