import { subdomainMessages } from '../../shared/api/selectors/label-syntax.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError, UsageError } from '../../shared/config/option.ts'
import { publicKeyHashes } from '../../shared/pki/public-key-hash.ts'
import { bootstrapNode } from './bootstrap.ts'
import { discover } from './discover.ts'
import { isUsable, type Joined, type NodeFolder } from './node-folder.ts'
import type { Wanted } from './wanted.ts'

export interface Admission extends Wanted {
  /** Holds the node's name; undefined for the machine's, or the one that joined. */
  ownName: string | undefined
  machineName: string
  /** Join without pins. */
  skipsPins: boolean
}

const printed = 'the command that kubestage token create --print-join-command prints'

/** Credentials for the node: those that the folder keeps, or new ones by the token. Throws a ConfigError. */
export async function admit(folder: NodeFolder, wanted: Admission): Promise<Joined> {
  const kept = folder.joined()
  if (kept) return await readmit(folder, kept, wanted)
  const joined = { nodeName: wanted.ownName ?? wanted.machineName, servers: wanted.servers }
  if (joined.servers.length === 0)
    throw new UsageError(`no node has joined from ${folder.root} yet: join with ${printed}`)
  if (subdomainMessages(joined.nodeName).length > 0)
    throw new UsageError(`this machine's name ${joined.nodeName} is not a valid node name: choose one with --node-name`)
  await joinAnew(folder, joined, wanted)
  return joined
}

async function readmit(folder: NodeFolder, kept: Joined, wanted: Admission): Promise<Joined> {
  const { nodeName } = kept
  const other = `kubestage leave --state-dir ${folder.root} ends it, and another --state-dir keeps both`
  if (wanted.ownName !== undefined && wanted.ownName !== nodeName)
    throw new ConfigError(`${folder.root} is the folder of node ${nodeName}, not ${wanted.ownName}: ${other}`)
  const access = await folder.access()
  const isSame = wanted.servers.length === 0 || `${wanted.servers}` === `${kept.servers}`
  const isPinned = wanted.pins.length > 0
  const fits = isPinned ? publicKeyHashes(access.ca ?? '').some((hash) => wanted.pins.includes(hash)) : isSame
  if (!fits) throw new ConfigError(`${folder.root} is the folder of node ${nodeName} of another cluster: ${other}`)
  const joined = { nodeName, servers: isSame ? kept.servers : wanted.servers }
  if (isUsable(access, nodeName, realClock.now())) {
    if (!isSame) folder.remember(joined)
    return joined
  }
  if (!wanted.token)
    throw new ConfigError(`the certificate of node ${nodeName} has expired: join again with ${printed}`)
  await joinAnew(folder, joined, wanted)
  return joined
}

async function joinAnew(folder: NodeFolder, joined: Joined, { token, pins, skipsPins }: Admission): Promise<void> {
  if (!token) throw new UsageError(`--token is missing: join with ${printed}`)
  if (pins.length === 0 && !skipsPins)
    throw new UsageError(
      '--discovery-token-ca-cert-hash is missing: without it each holder of the token could pretend to be the cluster; --discovery-token-unsafe-skip-ca-verification takes that risk',
    )
  const { nodeName } = joined
  const access = await discover({ servers: joined.servers, token, pins, clock: realClock })
  const pair = await bootstrapNode({ access, token, nodeName, clock: realClock })
  folder.keep(joined, { ...pair, ca: access.ca })
}
