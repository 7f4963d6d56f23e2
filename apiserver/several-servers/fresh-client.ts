import type { Client } from '../../shared/client/client.ts'
import type { Storage } from '../storage/engine.ts'

/**
 * A client without a network, of a server beside others: each request sees what any of them has acknowledged before, as
 * requests over the network do. Watches begin with what is known here.
 */
export function freshClient(client: Client, { catchUp }: Required<Pick<Storage, 'catchUp'>>): Client {
  const after =
    <Words extends unknown[], Answer>(ask: (...words: Words) => Promise<Answer>) =>
    async (...words: Words): Promise<Answer> => {
      await catchUp()
      return ask(...words)
    }
  return {
    get: after((...words) => client.get(...words)) as Client['get'],
    list: after((...words) => client.list(...words)) as Client['list'],
    create: after((...words) => client.create(...words)) as Client['create'],
    update: after((...words) => client.update(...words)) as Client['update'],
    patch: after((...words) => client.patch(...words)) as Client['patch'],
    delete: after((...words) => client.delete(...words)),
    watch: (...words) => client.watch(...words),
    close: () => client.close(),
  } as Client
}
