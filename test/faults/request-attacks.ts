import type { Attack } from '../budgets/attack.ts'
import { attacksByKind } from '../budgets/attacks/all.ts'
import { type NamedRequest, podsOf, reviewsOf } from '../budgets/bodies.ts'

interface Campaign {
  what: string
  who: 'a service account that may only create pods' | 'an administrator'
  attacks: readonly Attack[]
}

const account = 'a service account that may only create pods'

const one = (name: string, requests: NamedRequest[]): Attack => ({
  name,
  requests: () => requests.map(({ request }) => request),
  answers: [],
})

/** Whose rights are asked before it costs anything: the others need none, or an administrator's. */
const refusedAttacks = ['requests', 'custom resources', 'what grows', 'webhooks']

/**
 * Attacks by requests: bodies that the account may send, and those of the budgets, by whom they are refused and by whom
 * not.
 */
export const requestAttacks = ({ namespace }: { namespace: string }): Campaign[] => [
  {
    what: 'bodies',
    who: account,
    attacks: [3_000_000, 128_000].flatMap((bytes) => [
      one(`reviews of ${bytes} bytes`, reviewsOf(bytes)),
      one(`pods of ${bytes} bytes`, podsOf(bytes, namespace)),
    ]),
  },
  ...Object.entries(attacksByKind).map(([what, attacks]): Campaign => ({ what, who: 'an administrator', attacks })),
  ...refusedAttacks.map((what): Campaign => ({ what, who: account, attacks: attacksByKind[what]! })),
]
