import { type FieldSelector, parseFieldSelector } from '../../../shared/api/selectors/field-selector.ts'
import { type LabelSelector, parseLabelSelector } from '../../../shared/api/selectors/label-selector.ts'
import { badRequest } from '../../../shared/api/status/status-errors.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { forbidden, invalidObject, notSupported } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { booleanParameter, type Query } from '../request-info.ts'

/** metav1.ListOptions, read and checked. */
export interface ListOptions {
  labels: LabelSelector
  fields: FieldSelector
  watch: boolean
  allowWatchBookmarks: boolean
  /** Holds what the client asked for; undefined if it did not say. */
  sendInitialEvents: boolean | undefined
  timeoutSeconds: number | undefined
  /** Limits the length of the list; 0 for no limit. */
  limit: number
  continue: string
  /** Holds the parameter; empty if it was not given. */
  resourceVersion: string
  resourceVersionMatch: string
}

/** `watch`: the options are those of a watch. By the prefix /watch/ they are checked as those of a list. */
export function parseListOptions(query: Query, definition: ResourceDefinition, watch: boolean): ListOptions {
  const timeoutSeconds = integer(query, 'timeoutSeconds')
  const limit = Math.max(integer(query, 'limit') ?? 0, 0)
  const options: ListOptions = {
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields: parseFieldSelector(query.get('fieldSelector') ?? ''),
    watch,
    allowWatchBookmarks: booleanParameter(query, 'allowWatchBookmarks'),
    sendInitialEvents: query.has('sendInitialEvents') ? booleanParameter(query, 'sendInitialEvents') : undefined,
    timeoutSeconds,
    limit,
    continue: query.get('continue') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
  }
  const errors: FieldErrors = []
  if (watch) validateWatch(options, errors)
  else validateList(options, errors)
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors)
  checkFields(definition, options.fields)
  return options
}

export function integer(query: Query, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^[-+]?[0-9]+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  if (BigInt.asIntN(64, BigInt(text)) !== BigInt(text)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`)
  }
  return Number(text)
}

const field = 'resourceVersionMatch'
const matches = ['Exact', 'NotOlderThan', '']

function validateList({ resourceVersionMatch, resourceVersion, ...options }: ListOptions, errors: FieldErrors): void {
  if (resourceVersionMatch !== '') validateMatch({ resourceVersionMatch, resourceVersion, ...options }, errors)
  if (options.sendInitialEvents !== undefined) {
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  }
}

function validateMatch({ resourceVersionMatch, resourceVersion, ...options }: ListOptions, errors: FieldErrors): void {
  if (resourceVersion === '') {
    errors.push(forbidden(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'))
  }
  if (options.continue !== '') {
    errors.push(forbidden(field, 'resourceVersionMatch is forbidden when continue is provided'))
  }
  if (!matches.includes(resourceVersionMatch)) errors.push(notSupported(field, resourceVersionMatch, matches))
  if (resourceVersionMatch === 'Exact' && resourceVersion === '0') {
    errors.push(forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
  }
}

function validateWatch(
  { resourceVersionMatch, sendInitialEvents, ...options }: ListOptions,
  errors: FieldErrors,
): void {
  const known = 'NotOlderThan'
  if (sendInitialEvents !== undefined && resourceVersionMatch !== known) {
    errors.push(forbidden(field, `sendInitialEvents requires setting resourceVersionMatch to ${known}`))
  }
  if (resourceVersionMatch !== '') {
    if (sendInitialEvents === undefined) {
      errors.push(forbidden(field, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'))
    }
    if (resourceVersionMatch !== known) errors.push(notSupported(field, resourceVersionMatch, [known]))
  }
  // A watch from any or the newest state has a default for what it matches.
  const isFromState = sendInitialEvents === undefined && ['', '0'].includes(options.resourceVersion)
  if (options.continue !== '' && (resourceVersionMatch !== '' || isFromState)) {
    errors.push(forbidden(field, 'resourceVersionMatch is forbidden when continue is provided'))
  }
}

function checkFields(definition: ResourceDefinition, fields: FieldSelector): void {
  const { selectableFields, namespaced, itemHead, unsupportedField } = definition
  for (const { field } of fields) {
    if (field === 'metadata.name') continue
    if (field === 'metadata.namespace' && (namespaced || (!selectableFields && itemHead === undefined))) continue
    if (selectableFields && Object.hasOwn(selectableFields, field)) continue
    throw badRequest(
      unsupportedField?.(field) ??
        (selectableFields || itemHead !== undefined
          ? `field label not supported: ${field}`
          : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`),
    )
  }
}
