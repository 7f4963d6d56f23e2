/**
 * What expressions of admission may ask an authorizer. None is there to be asked: they compile, and fail when they run.
 */

import { noSuchOverload } from '../errors.ts'
import type { Signature } from '../overloads.ts'

const SIGNATURES = [
  'Authorizer.path(string): PathCheck',
  'Authorizer.group(string): GroupCheck',
  'Authorizer.serviceAccount(string, string): Authorizer',
  'GroupCheck.resource(string): ResourceCheck',
  'ResourceCheck.subresource(string): ResourceCheck',
  'ResourceCheck.namespace(string): ResourceCheck',
  'ResourceCheck.name(string): ResourceCheck',
  'ResourceCheck.fieldSelector(string): ResourceCheck',
  'ResourceCheck.labelSelector(string): ResourceCheck',
  'PathCheck.check(string): Decision',
  'ResourceCheck.check(string): Decision',
  'Decision.errored(): bool',
  'Decision.error(): string',
  'Decision.allowed(): bool',
  'Decision.reason(): string',
]
const nobody = (): never => {
  throw noSuchOverload()
}

export const AUTHORIZER: readonly Signature[] = SIGNATURES.map((signature) => [signature, nobody])
