import type { Access } from '../../auth/access.ts'
import { type AccessAnswer, AuthorizerValue, ResourceCheck, type Subject } from '../../cel/library/authorizer.ts'
import type { Variables } from '../../cel/request-expression.ts'
import type { User } from '../../kind/user.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'

/** Asks the server's authorizers for a user; each question of one request is asked once. */
class AskedAccess implements Subject {
  readonly #access: Access
  readonly #user: User
  readonly #answers = new Map<string, AccessAnswer>()

  constructor(access: Access, user: User) {
    this.#access = access
    this.#user = user
  }

  decide({ verb, path = '', resource }: Parameters<Subject['decide']>[0]): AccessAnswer {
    const id = JSON.stringify([verb, path, resource])
    let answer = this.#answers.get(id)
    if (!answer) {
      answer = this.#ask(verb, path, resource)
      this.#answers.set(id, answer)
    }
    return answer
  }

  #ask(verb: string, path: string, resource: Parameters<Subject['decide']>[0]['resource']): AccessAnswer {
    const decision = this.#access.decide({ user: this.#user, verb, path, resource })
    if (decision instanceof Promise) {
      // Expressions cannot wait; none of the authorizers of this server looks anything up elsewhere.
      decision.catch(() => {})
      return { allowed: false, reason: '', error: 'the authorizer does not answer at once' }
    }
    return { allowed: decision.verdict === 'allow', reason: decision.reason ?? '' }
  }

  serviceAccount(namespace: string, name: string): Subject {
    return new AskedAccess(this.#access, {
      name: `system:serviceaccount:${namespace}:${name}`,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    })
  }
}

/**
 * Returns `authorizer` and `authorizer.requestResource` for the user of a request. `namespace` is that of the request.
 */
export function authorizerVariables(
  access: Access,
  { definition, subresource, name, user }: AdmissionAttributes,
  namespace: string | undefined,
): Variables {
  const subject = new AskedAccess(access, user)
  const { group, plural } = definition
  const resource = { group, resource: plural, subresource, namespace, name }
  return {
    authorizer: new AuthorizerValue(subject),
    'authorizer.requestResource': new ResourceCheck({ subject, resource }),
  }
}
