import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { dirname } from 'node:path'
import type { Clock } from '../../../shared/clock/clock.ts'
import { makeFolder } from '../../../shared/files/make-folder.ts'
import { type PeerHandlers, type Peers, type Storage, StorageUnavailableError } from '../engine.ts'
import { EncodedChanges } from './encoded-changes.ts'
import { FeedOfMember } from './feed-of-member.ts'
import { addressOf, pageOf } from './place.ts'
import { RevisionPage } from './revision-page.ts'

export interface OfferOptions {
  /** Names the Unix socket. */
  path: string
  clock: Clock
  onTrouble?(line: string): void
}

/** Servers of one machine; each has one connection. */
const maxMembers = 64
/** The umask of the socket: only the user who runs the holder may connect. */
const othersMayNot = 0o177

/**
 * Opens a store in this process, and offers it to other API servers of the machine at a socket of their user alone.
 * Resolves to the store as one of several servers has it: what this process reads is the present. `open`: the store
 * calls `publish` with the revision of each write before it tells anyone of the write.
 */
export async function offerStorage(
  open: (publish: (revision: number) => void) => Promise<Storage>,
  { path, clock, onTrouble = () => {} }: OfferOptions,
): Promise<Storage> {
  makeFolder(dirname(path))
  const page = RevisionPage.make(pageOf(path))
  const storage = await open((revision) => page.write(revision))
  rmSync(path, { force: true })
  let isClosed = false
  const changes = new EncodedChanges()
  const members = new Map<string, FeedOfMember>()
  let count = 0
  let handlers: PeerHandlers | undefined
  const server = createServer((socket) => {
    if (members.size >= maxMembers) return void socket.destroy()
    const name = `member-${++count}`
    const answer = (question: unknown): unknown => {
      if (!handlers) throw new StorageUnavailableError('the API server that holds the store is starting; try again')
      return handlers.answer(question, name)
    }
    members.set(name, new FeedOfMember(socket, { storage, changes, clock, onTrouble, answer }))
    handlers?.joined?.(name)
    socket.on('close', () => {
      members.delete(name)
      handlers?.left?.(name)
    })
  })
  const peers: Peers = {
    isHolder: true,
    ask: async (peer, question, timeoutMs) => members.get(peer)?.ask(question, timeoutMs),
    serve(given) {
      handlers = given
      for (const name of members.keys()) given.joined?.(name)
    },
  }
  page.write(storage.revision())
  await listenPrivately(server, addressOf(path))
  return {
    revision: () => storage.revision(),
    oldestRevision: () => storage.oldestRevision(),
    get: (key) => storage.get(key),
    list: (list) => storage.list(list),
    put: (put) => storage.put(put),
    delete: (entry) => storage.delete(entry),
    watch: (watch) => storage.watch(watch),
    compact: (below) => storage.compact(below),
    catchUp: async () => false,
    peers,
    async close() {
      if (isClosed) return
      isClosed = true
      server.close()
      for (const member of members.values()) member.close()
      await storage.close()
      rmSync(path, { force: true })
      page.close()
    },
  }
}

/** The socket has its mode from the moment it is there. */
async function listenPrivately(server: Server, path: string): Promise<void> {
  const before = process.umask(othersMayNot)
  try {
    server.listen(path)
  } finally {
    process.umask(before)
  }
  await once(server, 'listening')
  server.unref()
}
