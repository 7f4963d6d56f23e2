import { type OptionType, option } from '../../shared/config/option.ts'
import { createMemoryStorage, type MemoryStorageOptions } from './memory.ts'
import type { OpenOptions } from './open-options.ts'
import type { Storage } from './storage.ts'

/** Says which engine stores the objects. */
export type StorageChoice =
  | { engine: 'memory' }
  | { engine: 'sqlite'; file: string }
  | { engine: 'etcd'; endpoints: readonly string[] }
  /** The store is held by another API server of this machine, which offers it at this path. */
  | { engine: 'shared'; path: string }

const choice: OptionType<StorageChoice> = {
  placeholder: 'memory|sqlite:PATH|etcd:URL[,URL]',
  schema: { type: 'string', pattern: '^(memory|(sqlite|shared):.+|etcd:https?://.+)$' },
  fromText: parseStorage,
  fromFile: parseStorage,
  show: showStorage,
}

export const storageOption = option(choice, {
  default: { engine: 'memory' },
  help: 'Where objects are kept: in memory, in a file that outlives us, or in etcd (docs/etcd.md)',
})

/** `memory`, `sqlite:PATH`, or `etcd:` and the URLs of its members with commas between. */
export function parseStorage(value: unknown): StorageChoice {
  if (value === 'memory') return { engine: 'memory' }
  const [, engine, place = ''] = (typeof value === 'string' && /^(sqlite|shared|etcd):(.+)$/.exec(value)) || []
  if (engine === 'sqlite') return { engine, file: place }
  if (engine === 'shared') return { engine, path: place }
  const endpoints = place.split(',').map(endpoint)
  if (engine === 'etcd' && !endpoints.includes('')) return { engine, endpoints }
  throw new Error(`must be memory, sqlite:PATH or etcd:https://HOST:PORT[,…], not ${JSON.stringify(value)}`)
}

/** Returns a choice in the form that `--storage` takes. */
export function showStorage(choice: StorageChoice): string {
  if (choice.engine === 'memory') return 'memory'
  if (choice.engine === 'sqlite') return `sqlite:${choice.file}`
  if (choice.engine === 'shared') return `shared:${choice.path}`
  return ['etcd', choice.endpoints.join(',')].filter(Boolean).join(':')
}

/** `https://host:port`; empty for what is none. */
function endpoint(text: string): string {
  const url = URL.parse(text)
  return url && /^https?:$/.test(url.protocol) && url.pathname === '/' ? url.origin : ''
}

/** Rejects with a ConfigError, one sentence, when the file or etcd cannot be used. */
export async function openStorage(choice: StorageChoice, options: OpenOptions): Promise<Storage> {
  if (choice.engine === 'etcd') {
    const { openEtcd } = await import('./etcd/open.ts')
    return openEtcd(choice.endpoints, options)
  }
  if (choice.engine === 'shared') {
    const { openMemberStorage } = await import('./shared/member.ts')
    return openMemberStorage({ ...choice, clock: options.clock.machine, onTrouble: options.onTrouble })
  }
  if (options.offerAt === undefined) return openOwn(choice, options)
  const { offerStorage } = await import('./shared/offer.ts')
  const { offerAt: path, clock, onTrouble } = options
  return offerStorage((publish) => openOwn(choice, { ...options, publish }), { path, clock: clock.machine, onTrouble })
}

async function openOwn(
  choice: StorageChoice & { engine: 'memory' | 'sqlite' },
  { onRoom, publish }: Pick<OpenOptions, 'onRoom'> & Pick<MemoryStorageOptions, 'publish'>,
): Promise<Storage> {
  if (choice.engine === 'memory') return createMemoryStorage({ publish })
  const { openSqliteStorage } = await import('./sqlite/sqlite.ts')
  return openSqliteStorage({ ...choice, onRoom, publish })
}

/** Before a start: on a full disk, the room that was reserved is for it. */
export async function makeRoom(choice: StorageChoice): Promise<void> {
  if (choice.engine !== 'sqlite') return
  const { releaseWhereFull } = await import('./sqlite/reserve.ts')
  releaseWhereFull(choice.file)
}
