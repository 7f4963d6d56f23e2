import { ignoring, isStatus } from '../shared/api/status-error.ts'
import type { Secret, ServiceAccount } from '../shared/api/types.ts'
import { secrets, serviceAccounts } from '../shared/client/resources.ts'
import { createWorkQueue } from '../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from './controller.ts'

const type = 'kubernetes.io/service-account-token'
const nameAnnotation = 'kubernetes.io/service-account.name'
const uidAnnotation = 'kubernetes.io/service-account.uid'
/** As long as a token can be asked for: 136 years. It ends with its Secret. */
const expirationSeconds = 2 ** 32

/**
 * Secrets that ask for a service account's token get it, and go when the account goes.
 * Upstream: pkg/controller/serviceaccount/tokens_controller.go.
 */
export function startServiceAccountTokenController(context: ControllerContext, caCert: string): Controller {
  const { client, informers, clock, log } = context
  const ca = Buffer.from(caCert).toString('base64')
  const wanting = informers.selected<Secret>(secrets, {
    selection: { fieldSelector: `type=${type}` },
    handlers: [{ onAdd: changed, onUpdate: changed }],
  })
  const accounts = informers.metadata(serviceAccounts)
  const queue = createWorkQueue<string>({
    clock,
    work: sync,
    onError: (error, secret) => log.warn({ err: error, secret }, "cannot keep a service account's token"),
  })
  accounts.addHandler({
    onDelete: ({ metadata }) => {
      for (const secret of wanting.list()) {
        const { namespace, annotations } = secret.metadata
        if (namespace === metadata.namespace && annotations?.[nameAnnotation] === metadata.name) changed(secret)
      }
    },
  })

  function changed({ metadata }: Secret): void {
    queue.add(`${metadata.namespace}/${metadata.name}`)
  }

  async function sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const secret = wanting.get({ namespace, name })
    const accountName = secret?.metadata.annotations?.[nameAnnotation]
    if (!secret || !accountName || secret.metadata.deletionTimestamp) return
    try {
      // It may have been made just before the Secret.
      const account = await client.get<ServiceAccount>(serviceAccounts, { namespace, name: accountName })
      const { uid } = account.metadata
      const wanted = secret.metadata.annotations?.[uidAnnotation]
      if (wanted !== undefined && wanted !== uid) return await remove(secret)
      if (!isComplete(secret)) await fill(secret, { name: accountName, uid: uid ?? '' })
    } catch (error) {
      if (isStatus(error, 'NotFound')) await remove(secret)
      // The write that came first makes another event.
      else if (!isStatus(error, 'Conflict')) throw error
    }
  }

  const isComplete = ({ metadata, data = {} }: Secret): boolean =>
    Boolean(data.token && data.namespace && metadata.annotations?.[uidAnnotation]) && data['ca.crt'] === ca

  async function fill(secret: Secret, account: { name: string; uid: string }): Promise<void> {
    const { metadata, data } = secret
    const { namespace = '' } = metadata
    const token = data?.token || Buffer.from(await request(secret, account.name)).toString('base64')
    const annotations = { ...metadata.annotations, [uidAnnotation]: account.uid }
    await client.update<Secret>(secrets, {
      ...secret,
      metadata: { ...metadata, annotations },
      data: { ...data, 'ca.crt': ca, namespace: Buffer.from(namespace).toString('base64'), token },
    })
  }

  async function request({ metadata }: Secret, name: string): Promise<string> {
    const { namespace, name: secretName, uid } = metadata
    const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name: secretName, uid }
    const asked = { metadata: {}, spec: { expirationSeconds, boundObjectRef } }
    const answer = await client.create<object>(serviceAccounts, asked, { namespace, name, subresource: 'token' })
    return (answer as { status: { token: string } }).status.token
  }

  async function remove({ metadata: { namespace, name = '', uid } }: Secret): Promise<void> {
    await client
      .delete(secrets, { namespace, name }, { preconditions: { uid } })
      .catch(ignoring('NotFound', 'Conflict'))
  }

  return { close: () => queue.close() }
}
