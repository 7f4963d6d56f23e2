import { type FieldsV1, fieldPaths, noFields } from '../patch/structured-merge/fields.ts'
import { traitsOf } from './subresource-traits.ts'

const status = fieldPaths('status')
const spec = fieldPaths('spec')
const specAndMetadata = fieldPaths('spec', 'metadata')
/** Upstream's reset fields where a kind says nothing else: the endpoints of spec and status keep to themselves. */
export function defaultResetFields(
  { hasStatus, statusKeepsMetadata }: { hasStatus: boolean; statusKeepsMetadata: boolean },
  subresource: string | undefined,
): FieldsV1 {
  if (subresource === 'status' && statusKeepsMetadata) return specAndMetadata
  if (traitsOf(subresource).unowned === 'spec') return spec
  return hasStatus ? status : noFields
}
