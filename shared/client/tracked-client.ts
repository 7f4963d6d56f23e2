import type { Activity } from '../concurrency/activity.ts'
import type { Client } from './client.ts'

/** Wraps a client so that its requests count as activity. Watches do not count. */
export function trackedClient(client: Client, activity: Activity): Client {
  const tracked = {
    get: (...words: Parameters<Client['get']>) => activity.track(client.get(...words)),
    list: (...words: Parameters<Client['list']>) => activity.track(client.list(...words)),
    create: (...words: Parameters<Client['create']>) => activity.track(client.create(...words)),
    update: (...words: Parameters<Client['update']>) => activity.track(client.update(...words)),
    patch: (...words: Parameters<Client['patch']>) => activity.track(client.patch(...words)),
    delete: (...words: Parameters<Client['delete']>) => activity.track(client.delete(...words)),
    watch: (...words: Parameters<Client['watch']>) => client.watch(...words),
    close: () => client.close(),
  }
  return tracked as Client
}
