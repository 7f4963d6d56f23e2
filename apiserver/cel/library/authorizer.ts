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
abstract class AuthorizationValue extends OpaqueValue {
  equals(): boolean {
    throw noSuchOverload()
  }
}
export class AuthorizerValue extends AuthorizationValue {
  readonly typeName = 'kubernetes.authorization.Authorizer'
  readonly subject: Subject
  constructor(subject: Subject) {
    super()
    this.subject = subject
  }
}
class PathCheck extends AuthorizationValue {
  readonly typeName = 'kubernetes.authorization.PathCheck'
  readonly subject: Subject
  readonly path: string
  constructor(subject: Subject, path: string) {
    super()
    this.subject = subject
    this.path = path
  }
}
class GroupCheck extends AuthorizationValue {
  readonly typeName = 'kubernetes.authorization.GroupCheck'
  readonly subject: Subject
  readonly group: string
  constructor(subject: Subject, group: string) {
    super()
    this.subject = subject
    this.group = group
  }
}
export class ResourceCheck extends AuthorizationValue {
  readonly typeName = 'kubernetes.authorization.ResourceCheck'
  readonly subject: Subject
  readonly asked: AskedResource
  constructor(subject: Subject, asked: AskedResource) {
    super()
    this.subject = subject
    this.asked = asked
  }
  with(more: Partial<AskedResource>): ResourceCheck {
    return new ResourceCheck(this.subject, { ...this.asked, ...more })
  }
}
class DecisionValue extends AuthorizationValue {
  readonly typeName = 'kubernetes.authorization.Decision'
  readonly answer: AccessAnswer
  constructor(answer: AccessAnswer) {
    super()
    this.answer = answer
  }
}

function notEmpty(what: string, value: string): string {
  if (value.trim() === '') throw new CelError(`${what} must not be empty`)
  return value
}
function serviceAccount({ subject }: AuthorizerValue, namespace: string, name: string): AuthorizerValue {
  if (dns1123Subdomain(name).length > 0) throw new CelError('Invalid service account name')
  if (dns1123Label(namespace).length > 0) throw new CelError('Invalid service account namespace')
  return new AuthorizerValue(subject.serviceAccount(namespace, name))
}
const narrowed =
  (part: keyof AskedResource) =>
  (check: ResourceCheck, value: string): ResourceCheck =>
    check.with({ [part]: value })

export const AUTHORIZER: readonly Signature[] = [
  [
    'Authorizer.path(string): PathCheck',
    ({ subject }: AuthorizerValue, path: string) => new PathCheck(subject, notEmpty('path', path)),
  ],
  [
    'Authorizer.group(string): GroupCheck',
    ({ subject }: AuthorizerValue, group: string) => new GroupCheck(subject, group),
  ],
  ['Authorizer.serviceAccount(string, string): Authorizer', serviceAccount],
  [
    'GroupCheck.resource(string): ResourceCheck',
    ({ subject, group }: GroupCheck, resource: string) =>
      new ResourceCheck(subject, { group, resource: notEmpty('resource', resource) }),
  ],
  ['ResourceCheck.subresource(string): ResourceCheck', narrowed('subresource')],
  ['ResourceCheck.namespace(string): ResourceCheck', narrowed('namespace')],
  ['ResourceCheck.name(string): ResourceCheck', narrowed('name')],
  ['ResourceCheck.fieldSelector(string): ResourceCheck', narrowed('fieldSelector')],
  ['ResourceCheck.labelSelector(string): ResourceCheck', narrowed('labelSelector')],
  [
    'PathCheck.check(string): Decision',
    ({ subject, path }: PathCheck, verb: string) => new DecisionValue(subject.decide({ verb, path })),
  ],
  [
    'ResourceCheck.check(string): Decision',
    ({ subject, asked }: ResourceCheck, verb: string) => new DecisionValue(subject.decide({ verb, resource: asked })),
  ],
  ['Decision.errored(): bool', ({ answer }: DecisionValue) => answer.error !== undefined],
  ['Decision.error(): string', ({ answer }: DecisionValue) => answer.error ?? ''],
  ['Decision.allowed(): bool', ({ answer }: DecisionValue) => answer.allowed],
  ['Decision.reason(): string', ({ answer }: DecisionValue) => answer.reason],
]
