/** Webhooks whose answers never end: whoever may register one chooses what the server reads. */
import type { ServerResponse } from 'node:http'
import { startWebhookServer } from '../../harness/webhook-server.ts'
import type { Attack } from '../attack.ts'
import type { Attacker } from '../attacker.ts'
import { times } from '../times.ts'

const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
const part = Buffer.alloc(256 * 1024, ' ')

/** Blanks, which JSON may begin with, for as long as they are read. */
function withoutEnd(response: ServerResponse): undefined {
  const more = (): void => {
    while (!response.destroyed && response.write(part));
  }
  response.on('drain', more)
  more()
  return undefined
}

async function eightReviews(attacker: Attacker): Promise<void> {
  const ends: (() => unknown)[] = []
  const hooks = await startWebhookServer({ teardown: (end: () => unknown) => void ends.push(end) } as never)
  hooks.answers.set('/endless', (_review, _request, response) => withoutEnd(response))
  const webhook = {
    name: 'endless.example.com',
    clientConfig: hooks.clientConfig('/endless'),
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
  }
  const session = attacker.session('admin')
  const body = JSON.stringify({ metadata: { name: 'endless' }, webhooks: [webhook] })
  await attacker.request(session, { method: 'POST', path: configurations, body })
  const create = {
    method: 'POST',
    path: '/api/v1/namespaces/default/configmaps?dryRun=All',
    body: '{"metadata":{"name":"x"}}',
  }
  const codes = await Promise.all(times(8, () => attacker.request(session, create)))
  if (codes.some((code) => code !== 500)) attacker.wrong.push(`${codes}`)
  await attacker.request(session, { method: 'DELETE', path: `${configurations}/endless` })
  for (const end of ends) await end()
}

export const webhooks: Attack[] = [
  {
    name: 'webhooks: eight answers without an end',
    act: eightReviews,
    budget: { msPerRequest: 100, rssMb: 120 },
  },
]
