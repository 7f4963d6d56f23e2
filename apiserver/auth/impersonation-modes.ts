import { StatusError } from '../../shared/api/status/status-error.ts'
import type { User } from '../kind/user.ts'
import { decide } from './chain.ts'
import { actingAs, type WantedUser } from './impersonation.ts'
import { refusal } from './refusal.ts'
import type { Attributes, Authorizer, RequestedResource } from './types.ts'

/** A way to be allowed to act as another user. */
interface Mode {
  name: string
  applies(wanted: WantedUser, asker: User): boolean
}

const nodePrefix = 'system:node:'
const accountPattern = /^system:serviceaccount:([^:]+):([^:]+)$/
const nodeNameOf = (name: string): string | undefined =>
  name.startsWith(nodePrefix) && name !== nodePrefix ? name.slice(nodePrefix.length) : undefined
const onlyTheName = ({ uid, groups, extra }: WantedUser): boolean =>
  !uid && groups.length === 0 && Object.keys(extra).length === 0

/** Narrow permissions first. Upstream: apiserver/pkg/endpoints/filters/impersonation. */
const modes: readonly Mode[] = [
  {
    name: 'associated-node',
    applies: (wanted, { name, extra }) =>
      onlyTheName(wanted) &&
      accountPattern.test(name) &&
      extra?.['authentication.kubernetes.io/node-name']?.[0] === (nodeNameOf(wanted.name) ?? ''),
  },
  { name: 'arbitrary-node', applies: (wanted) => onlyTheName(wanted) && nodeNameOf(wanted.name) !== undefined },
  { name: 'serviceaccount', applies: (wanted) => onlyTheName(wanted) && accountPattern.test(wanted.name) },
  { name: 'user-info', applies: ({ name }) => nodeNameOf(name) === undefined && !accountPattern.test(name) },
]

/** The names of users with the mode in which each was last allowed: it is tried first. */
export class LastModes {
  readonly #modes = new Map<string, Mode | undefined>()

  /** Returns all modes in the order in which they are tried. */
  orderFor({ name }: User): readonly (Mode | undefined)[] {
    const all = [...modes, undefined]
    if (!this.#modes.has(name)) return all
    const last = this.#modes.get(name)
    return [last, ...all.filter((mode) => mode !== last)]
  }

  note({ name }: User, mode: Mode | undefined): void {
    this.#modes.delete(name)
    if (this.#modes.size >= maxUsers) this.#modes.delete(this.#modes.keys().next().value!)
    this.#modes.set(name, mode)
  }
}
const maxUsers = 10_000

/**
 * The user that the request of `attributes` acts as from now on. Throws the first refusal (403) when no mode allows it.
 */
export async function impersonate(
  authorizers: readonly Authorizer[],
  wanted: WantedUser,
  attributes: Attributes,
  lastModes: LastModes,
): Promise<User> {
  const ask = (asked: Attributes): Promise<void> => check(authorizers, asked)
  let first: unknown
  for (const mode of lastModes.orderFor(attributes.user)) {
    if (mode && !mode.applies(wanted, attributes.user)) continue
    try {
      if (mode) await ask({ ...attributes, verb: `impersonate-on:${mode.name}:${attributes.verb}` })
      const user = await inMode(mode, wanted, { ask, user: attributes.user })
      lastModes.note(attributes.user, mode)
      return user
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      first ??= error
    }
  }
  throw first
}

async function check(authorizers: readonly Authorizer[], attributes: Attributes): Promise<void> {
  const { verdict, reason } = await decide(authorizers, attributes)
  if (verdict !== 'allow') throw refusal(attributes, reason)
}

/** Without a mode, the verb is `impersonate` as it has always been. */
async function inMode(
  mode: Mode | undefined,
  wanted: WantedUser,
  { ask, user }: { ask(attributes: Attributes): Promise<void>; user: User },
): Promise<User> {
  const verb = mode ? `impersonate:${mode.name}` : 'impersonate'
  const group = mode ? authenticationGroup : ''
  const about = (resource: Omit<RequestedResource, 'group'> & { group?: string }): Attributes => ({
    user,
    path: '',
    verb,
    resource: { group, ...resource },
  })
  const node = mode && nodeNameOf(wanted.name)
  const [, namespace, account] = accountPattern.exec(wanted.name) ?? []
  if (node) await ask(about({ resource: 'nodes', name: mode?.name === 'associated-node' ? '*' : node }))
  else if (namespace) await ask(about({ group: '', resource: 'serviceaccounts', namespace, name: account }))
  else await ask(about({ resource: 'users', name: wanted.name }))
  if (wanted.uid) await ask(about({ group: authenticationGroup, resource: 'uids', name: wanted.uid }))
  for (const name of wanted.groups) {
    const asked = about({ resource: 'groups', name })
    if (mode && name === '') throw refusal(asked, 'impersonating the empty string group is not allowed')
    if (mode && name === masters) throw refusal(asked, `impersonating the ${masters} group is not allowed`)
    await ask(asked)
  }
  for (const [key, values] of Object.entries(wanted.extra)) {
    const asked = { group: authenticationGroup, resource: 'userextras', subresource: key }
    if (mode && !isExtraKey(key)) throw refusal(about(asked), 'impersonating an invalid key in extra is not allowed')
    for (const name of values) await ask(about({ ...asked, name }))
  }
  if (node) return actingAs(wanted, ['system:nodes'])
  return actingAs(wanted, namespace ? ['system:serviceaccounts', `system:serviceaccounts:${namespace}`] : [])
}

const authenticationGroup = 'authentication.k8s.io'
const masters = 'system:masters'
/** `example.com/key`, in lower case. */
const isExtraKey = (key: string): boolean => /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[-a-z0-9._/]+$/.test(key)
