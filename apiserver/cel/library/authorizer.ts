/**
 * Functions by which expressions of admission ask about rights. Upstream: k8s.io/apiserver/pkg/cel/library/authz.go.
 */

import { dns1123Label, dns1123Subdomain } from '../../validation/names.ts'
import { CelError, noSuchOverload } from '../errors.ts'
import type { Signature } from '../overloads.ts'
import { OpaqueValue } from '../values.ts'

/** Describes what someone may want to do: with a path, or with a resource. */
export interface AccessQuestion {
  verb: string
  path?: string
  resource?: AskedResource
}
export interface AskedResource {
  group: string
  resource: string
  subresource?: string
  namespace?: string
  name?: string
  fieldSelector?: string
  labelSelector?: string
}
export interface AccessAnswer {
  allowed: boolean
  reason: string
  /** Says why there is no decision; undefined if there is one. */
  error?: string
}
export interface Subject {
  decide(question: AccessQuestion): AccessAnswer
  /** Returns the same for a service account. */
  serviceAccount(namespace: string, name: string): Subject
}

/** A value whose content only its functions show. */
abstract class AuthorizationValue<Content> extends OpaqueValue {
  readonly content: Content
  constructor(content: Content) {
    super()
    this.content = content
  }
  equals(): boolean {
    throw noSuchOverload()
  }
}
export class AuthorizerValue extends AuthorizationValue<Subject> {
  readonly typeName = 'kubernetes.authorization.Authorizer'
}
class PathCheck extends AuthorizationValue<{ subject: Subject; path: string }> {
  readonly typeName = 'kubernetes.authorization.PathCheck'
}
class GroupCheck extends AuthorizationValue<{ subject: Subject; group: string }> {
  readonly typeName = 'kubernetes.authorization.GroupCheck'
}
export class ResourceCheck extends AuthorizationValue<{ subject: Subject; resource: AskedResource }> {
  readonly typeName = 'kubernetes.authorization.ResourceCheck'
}
class DecisionValue extends AuthorizationValue<AccessAnswer> {
  readonly typeName = 'kubernetes.authorization.Decision'
}

function notEmpty(what: string, value: string): string {
  if (value.trim() === '') throw new CelError(`${what} must not be empty`)
  return value
}
function serviceAccount({ content: subject }: AuthorizerValue, namespace: string, name: string): AuthorizerValue {
  if (dns1123Subdomain(name).length > 0) throw new CelError('Invalid service account name')
  if (dns1123Label(namespace).length > 0) throw new CelError('Invalid service account namespace')
  return new AuthorizerValue(subject.serviceAccount(namespace, name))
}
const check = ({ content: { subject, ...question } }: PathCheck | ResourceCheck, verb: string): DecisionValue =>
  new DecisionValue(subject.decide({ verb, ...question }))
const narrowed =
  (part: keyof AskedResource) =>
  ({ content: { subject, resource } }: ResourceCheck, value: string): ResourceCheck =>
    new ResourceCheck({ subject, resource: { ...resource, [part]: value } })

export const AUTHORIZER: readonly Signature[] = [
  [
    'Authorizer.path(string): PathCheck',
    ({ content: subject }: AuthorizerValue, path: string) => new PathCheck({ subject, path: notEmpty('path', path) }),
  ],
  [
    'Authorizer.group(string): GroupCheck',
    ({ content: subject }: AuthorizerValue, group: string) => new GroupCheck({ subject, group }),
  ],
  ['Authorizer.serviceAccount(string, string): Authorizer', serviceAccount],
  [
    'GroupCheck.resource(string): ResourceCheck',
    ({ content: { subject, group } }: GroupCheck, resource: string) =>
      new ResourceCheck({ subject, resource: { group, resource: notEmpty('resource', resource) } }),
  ],
  ['ResourceCheck.subresource(string): ResourceCheck', narrowed('subresource')],
  ['ResourceCheck.namespace(string): ResourceCheck', narrowed('namespace')],
  ['ResourceCheck.name(string): ResourceCheck', narrowed('name')],
  ['ResourceCheck.fieldSelector(string): ResourceCheck', narrowed('fieldSelector')],
  ['ResourceCheck.labelSelector(string): ResourceCheck', narrowed('labelSelector')],
  ['PathCheck.check(string): Decision', check],
  ['ResourceCheck.check(string): Decision', check],
  ['Decision.errored(): bool', ({ content }: DecisionValue) => content.error !== undefined],
  ['Decision.error(): string', ({ content }: DecisionValue) => content.error ?? ''],
  ['Decision.allowed(): bool', ({ content }: DecisionValue) => content.allowed],
  ['Decision.reason(): string', ({ content }: DecisionValue) => content.reason],
]
