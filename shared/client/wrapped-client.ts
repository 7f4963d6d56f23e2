import type { Client } from './client.ts'

/** Wraps a client: `around` makes each request, `watch` each watch; without it watches go through as they are. */
export function wrappedClient(
  client: Client,
  around: <Answer>(call: () => Promise<Answer>) => Promise<Answer>,
  watch = (...words: Parameters<Client['watch']>): AsyncIterable<unknown> => client.watch(...words),
): Client {
  const wrapped = {
    get: (...words: Parameters<Client['get']>) => around(() => client.get(...words)),
    list: (...words: Parameters<Client['list']>) => around(() => client.list(...words)),
    create: (...words: Parameters<Client['create']>) => around(() => client.create(...words)),
    update: (...words: Parameters<Client['update']>) => around(() => client.update(...words)),
    patch: (...words: Parameters<Client['patch']>) => around(() => client.patch(...words)),
    delete: (...words: Parameters<Client['delete']>) => around(() => client.delete(...words)),
    watch,
    close: () => client.close(),
  }
  return wrapped as Client
}
