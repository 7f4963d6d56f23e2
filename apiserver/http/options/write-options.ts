import type { IncomingMessage } from 'node:http'
import { leaderHeader, leaderIn } from '../../../shared/api/leader.ts'
import { badRequest } from '../../../shared/api/status/status-errors.ts'
import { fenceOf } from '../../registry/leader-fence.ts'
import type { WriteOptions } from '../../registry/write-context.ts'
import { forbidden, invalid, invalidObject, notSupported, tooLong } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import type { FieldValidation } from '../../validation/request-body.ts'
import type { WorkLimits } from '../../work-limits.ts'
import type { Exchange } from '../exchange.ts'
import { booleanParameter, noQuery } from '../request-info.ts'

/** Create-, Update- and PatchOptions: the query parameters of writes. */
export interface ParsedWriteOptions extends WriteOptions {
  /** The server's limits, within which the body is read. */
  limits: WorkLimits
  fieldValidation: FieldValidation
  /** True if the client named `fieldManager` itself. */
  fieldManagerGiven: boolean
  force: boolean
}

const nothing = {}
const validations = ['', 'Ignore', 'Strict', 'Warn']
const maxManagerBytes = 128

export function parseWriteOptions(
  { info: { query }, limits, request, warnings, audit }: Exchange,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  patch?: { isApply: boolean },
): ParsedWriteOptions {
  if (query === noQuery && !patch?.isApply)
    return {
      asked: nothing,
      dryRun: false,
      fieldManager: managerOf(request),
      fieldManagerGiven: false,
      fieldValidation: 'Warn',
      force: false,
      limits,
      fence: fenceIn(request),
      warn: warnings.add,
      annotate: audit?.annotate,
    }
  const errors: FieldErrors = []
  const fieldManager = query.get('fieldManager') ?? ''
  const fieldValidation = query.get('fieldValidation') ?? ''
  if (patch && !patch.isApply && query.has('force')) {
    errors.push(forbidden('force', 'may not be specified for non-apply patch'))
  }
  if (patch?.isApply && fieldManager === '') {
    errors.push({ type: 'FieldValueRequired', field: 'fieldManager', detail: 'is required for apply patch' })
  }
  validateFieldManager(fieldManager, errors)
  const dryRun = validateDryRun(query.getAll('dryRun'), errors)
  if (!validations.includes(fieldValidation)) {
    errors.push(notSupported('fieldValidation', fieldValidation, validations))
  }
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind }, '', errors)
  return {
    asked: {
      ...(dryRun && { dryRun: ['All'] }),
      ...(fieldManager && { fieldManager }),
      ...(fieldValidation && { fieldValidation }),
    },
    dryRun,
    fieldManager: fieldManager || managerOf(request),
    fieldManagerGiven: fieldManager !== '',
    fieldValidation: (fieldValidation || 'Warn') as FieldValidation,
    force: booleanParameter(query, 'force'),
    limits,
    fence: fenceIn(request),
    warn: warnings.add,
    annotate: audit?.annotate,
  }
}

/**
 * Returns the fence of a request that a leader's loops send; undefined for other requests. Throws a StatusError (400)
 * for a malformed header.
 */
export function fenceIn({ headers }: IncomingMessage): WriteOptions['fence'] {
  const text = headers[leaderHeader]
  if (text === undefined) return undefined
  const leader = leaderIn(String(text))
  if (!leader) throw badRequest(`the header ${leaderHeader} must be NAMESPACE/LEASE IDENTITY`)
  return fenceOf(leader)
}

/** A client without a name of its own is known by its program's. */
function managerOf({ headers }: IncomingMessage): string {
  const agent = headers['user-agent'] ?? ''
  const end = agent.indexOf('/')
  const name = (end === -1 ? agent : agent.slice(0, end)).replace(/[^\x20-\x7e]/g, '')
  return name === '' ? 'unknown' : name.slice(0, maxManagerBytes)
}

export function validateDryRun(values: readonly string[], errors: FieldErrors): boolean {
  if (values.some((value) => value !== 'All')) errors.push(notSupported('dryRun', values, ['All']))
  return values.length > 0
}

function validateFieldManager(manager: string, errors: FieldErrors): void {
  if (Buffer.byteLength(manager) > maxManagerBytes) errors.push(tooLong('fieldManager', maxManagerBytes))
  let position = 0
  for (const char of manager) {
    if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(char)) {
      const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
      errors.push(invalid('fieldManager', manager, `invalid character U+${code} (at position ${position})`))
    }
    position += Buffer.byteLength(char)
  }
}
