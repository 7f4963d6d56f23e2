import type { ApiServerConfig } from '../config.ts'
import { objectKey } from '../registry/index.ts'
import type { Storage } from '../storage/engine.ts'

/** No kind that is served has this key, and no snapshot. */
const key = objectKey({ group: 'kubestage.dev', plural: 'cluster' }, undefined, 'service-account-key')

type KeyPairSource = ApiServerConfig['serviceAccountKey']
type KeyPair = NonNullable<ReturnType<KeyPairSource['kept']>>

/** The key of tokens where servers share a storage: that of the first server, so that a token is good at each. */
export async function sharedKey(storage: Storage, own: KeyPairSource): Promise<KeyPairSource> {
  const pair = (await stored(storage)) ?? (await store(storage, own.kept() ?? (await own.make())))
  return { kept: () => pair, make: async () => pair }
}

async function stored(storage: Storage): Promise<KeyPair | undefined> {
  const entry = await storage.get(key)
  if (!entry) return undefined
  const { privateKey, publicKey } = JSON.parse(entry.value) as KeyPair
  return { privateKey, publicKey }
}

async function store(storage: Storage, pair: KeyPair): Promise<KeyPair> {
  const value = JSON.stringify({ metadata: { name: 'service-account-key' }, ...pair })
  const { ok } = await storage.put({ key, value, expect: 'absent' })
  return ok ? pair : ((await stored(storage)) ?? pair)
}
