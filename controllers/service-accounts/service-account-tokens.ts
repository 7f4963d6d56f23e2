import { ignoring, isStatus } from '../../shared/api/status/status-error.ts'
import type { Secret, ServiceAccount } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { everyState, type Informer } from '../../shared/client/informer.ts'
import { secrets, serviceAccounts } from '../../shared/client/resources.ts'
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createLoopQueue } from '../loop-queue.ts'

const type = 'kubernetes.io/service-account-token'
const nameAnnotation = 'kubernetes.io/service-account.name'
const uidAnnotation = 'kubernetes.io/service-account.uid'
/** The longest time for which a token can be asked: 136 years. It ends with its Secret. */
const expirationSeconds = 2 ** 32

/**
 * Secrets that ask for a service account's token get it, and go when the account goes.
 * Upstream: pkg/controller/serviceaccount/tokens_controller.go.
 */
class ServiceAccountTokenController implements Controller {
  readonly #client: Client
  readonly #ca: string
  readonly #wanting: Informer<Secret>
  readonly #queue: WorkQueue<string>

  constructor(context: ControllerContext, caCert: string) {
    const { client, informers, clock, log } = context
    this.#client = client
    this.#ca = Buffer.from(caCert).toString('base64')
    this.#wanting = informers.selected<Secret>(secrets, {
      selection: { fieldSelector: `type=${type}` },
      handlers: [everyState((secret) => this.#changed(secret))],
    })
    const accounts = informers.metadata(serviceAccounts)
    this.#queue = createLoopQueue({ clock, log, loop: 'serviceaccount-token-controller', object: 'Secret' }, (key) =>
      this.#sync(key),
    )
    accounts.addHandler({
      onDelete: ({ metadata }) => {
        for (const secret of this.#wanting.list()) {
          const { namespace, annotations } = secret.metadata
          if (namespace === metadata.namespace && annotations?.[nameAnnotation] === metadata.name) this.#changed(secret)
        }
      },
    })
  }

  close(): Promise<void> {
    return this.#queue.close()
  }

  #changed({ metadata }: Secret): void {
    this.#queue.add(`${metadata.namespace}/${metadata.name}`)
  }

  async #sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const secret = this.#wanting.get({ namespace, name })
    const accountName = secret?.metadata.annotations?.[nameAnnotation]
    if (!secret || !accountName || secret.metadata.deletionTimestamp) return
    try {
      // It may have been made just before the Secret.
      const account = await this.#client.get<ServiceAccount>(serviceAccounts, { namespace, name: accountName })
      const { uid } = account.metadata
      const wanted = secret.metadata.annotations?.[uidAnnotation]
      if (wanted !== undefined && wanted !== uid) return await this.#remove(secret)
      if (!this.#isComplete(secret)) await this.#fill(secret, { name: accountName, uid: uid ?? '' })
    } catch (error) {
      if (isStatus(error, 'NotFound')) await this.#remove(secret)
      // The write that came first makes another event.
      else if (!isStatus(error, 'Conflict')) throw error
    }
  }

  #isComplete({ metadata, data = {} }: Secret): boolean {
    return Boolean(data.token && data.namespace && metadata.annotations?.[uidAnnotation]) && data['ca.crt'] === this.#ca
  }

  async #fill(secret: Secret, account: { name: string; uid: string }): Promise<void> {
    const { metadata, data } = secret
    const { namespace = '' } = metadata
    const token = data?.token || Buffer.from(await this.#request(secret, account.name)).toString('base64')
    const annotations = { ...metadata.annotations, [uidAnnotation]: account.uid }
    await this.#client.update<Secret>(secrets, {
      ...secret,
      metadata: { ...metadata, annotations },
      data: { ...data, 'ca.crt': this.#ca, namespace: Buffer.from(namespace).toString('base64'), token },
    })
  }

  async #request({ metadata }: Secret, name: string): Promise<string> {
    const { namespace, name: secretName, uid } = metadata
    const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name: secretName, uid }
    const asked = { metadata: {}, spec: { expirationSeconds, boundObjectRef } }
    const answer = await this.#client.create<object>(serviceAccounts, asked, { namespace, name, subresource: 'token' })
    return (answer as { status: { token: string } }).status.token
  }

  async #remove({ metadata: { namespace, name = '', uid } }: Secret): Promise<void> {
    await this.#client
      .delete(secrets, { namespace, name }, { preconditions: { uid } })
      .catch(ignoring('NotFound', 'Conflict'))
  }
}

export const startServiceAccountTokenController = (context: ControllerContext, caCert: string): Controller =>
  new ServiceAccountTokenController(context, caCert)
