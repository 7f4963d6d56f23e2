import type { Attack } from '../budgets/attack.ts'
import { Attacker } from '../budgets/attacker.ts'
import { attacksByKind, foundByAttacks } from '../budgets/attacks/all.ts'
import { type NamedRequest, podsOf, reviewsOf } from '../budgets/bodies.ts'
import type { Started } from '../budgets/server.ts'
import { attackNamespace } from './pod-attacker.ts'

export interface Campaign {
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
export const requestAttacks: readonly Campaign[] = [
  {
    what: 'bodies',
    who: account,
    attacks: [3_000_000, 128_000].flatMap((bytes) => [
      one(`pods of ${bytes} bytes`, podsOf(bytes, attackNamespace)),
      one(`reviews of ${bytes} bytes`, reviewsOf(bytes)),
    ]),
  },
  ...Object.entries(attacksByKind).map(([what, attacks]): Campaign => ({ what, who: 'an administrator', attacks })),
  ...refusedAttacks.map((what): Campaign => ({ what, who: account, attacks: attacksByKind[what]! })),
]

/** `server`: as an administrator reaches it. `token`: of the account. */
export async function carryOut(
  attack: Attack,
  { who }: Campaign,
  { server, token }: { server: Started; token: string },
): Promise<void> {
  const { port, tls } = server
  const attacker =
    who === 'an administrator'
      ? new Attacker(server)
      : new Attacker({ port, tls: { ca: tls.ca } }, { authorization: `Bearer ${token}` })
  await attacker.carryOut(attack)
  attacker.leave()
}

/** Creates what the attacks need to find, unless it is there. */
export async function prepare(server: Started): Promise<void> {
  const admin = new Attacker(server)
  await admin.ask('admin', foundByAttacks, [201, 409])
  admin.leave()
  if (admin.wrong.length > 0) throw new Error(admin.wrong.join())
}
