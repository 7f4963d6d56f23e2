import { pods } from '../../shared/client/resources.ts'
import { until } from '../harness/until.ts'
import { type Attack, attacks } from './attacks.ts'
import { reached } from './canaries.ts'
import type { Attempt, Fault } from './faults.ts'
import { PodAttacker } from './pod-attacker.ts'
import { oneOf } from './random.ts'
import { type Campaign, carryOut, prepare, requestAttacks } from './request-attacks.ts'
import { SilentServer } from './silent-server.ts'
import type { Subject } from './subject.ts'

/** The attacks as faults: by pods, and by requests, of which each time one is drawn. Nothing ends by them. */
export const attackFaults: readonly Fault[] = [
  ...attacks.map((attack) => ({
    name: `pods: ${attack.name}`,
    endsNothing: true as const,
    inflict: ({ subject }: Attempt) => byPods(subject, attack),
  })),
  ...requestAttacks.map((campaign) => ({
    name: `${campaign.what}, by ${campaign.who}`,
    endsNothing: true as const,
    inflict: (attempt: Attempt) => byRequests(attempt, campaign),
  })),
]

async function byPods({ client, access }: Subject, attack: Attack): Promise<void> {
  const silent = await SilentServer.start()
  const attacker = await PodAttacker.start(client, access)
  try {
    await attacker.attack(attack, { silentPort: silent.port })
    await attacker.clear()
    await until(() => silent.connections === 0, { what: 'its connections to be closed' })
  } finally {
    silent.close()
    await attacker.close()
  }
}

async function byRequests({ subject, random }: Attempt, campaign: Campaign): Promise<void> {
  const { client, access } = subject
  const attacker = await PodAttacker.start(client, access)
  const server = reached({ url: access.server }, { access })
  try {
    await prepare(server)
    await carryOut(oneOf(random, campaign.attacks), campaign, { server, token: attacker.token })
  } finally {
    await attacker.close()
    await removePreparedPod(subject)
  }
}

/** It has finalizers, and no kubelet ends it before they are gone. */
async function removePreparedPod({ client }: Subject): Promise<void> {
  const pod = { namespace: 'default', name: 'budgets' }
  await client.patch(pods, pod, { metadata: { finalizers: null } })
  await client.delete(pods, pod, { gracePeriodSeconds: 0 })
}
