import { ConfigError } from '../../../shared/config/option.ts'
import type { OpenOptions } from '../open-options.ts'
import { isOfMachine } from '../snapshot.ts'
import type { Entry, ExpiryRule } from '../storage.ts'
import type { EtcdPlace } from './etcd-place.ts'
import { type CopyPlace, isSameFile, showPlace } from './places.ts'
import { readContents } from './source.ts'
import type { Target } from './target.ts'

export interface CopyOptions {
  from: CopyPlace
  to: CopyPlace
  /** Says how the source is opened, as `target` says it of the target: an etcd needs an address and credentials. */
  source: OpenOptions
  target: OpenOptions
  /** Lists the rules by which etcd deletes keys in time. */
  expiring: readonly ExpiryRule[]
  /** Replaces what is there. */
  overwrite: boolean
  onWritten?(count: number, all: number): void
}

export interface Copied {
  objects: number
  /** The source's revision that was copied. */
  fromRevision: number
  /** Holds the target's revision after the copy. */
  toRevision: number
}

/**
 * Copies all objects as they are at one moment. The target's revisions go on above those of both places. Rejects with a
 * ConfigError that says what is there now.
 */
export async function copyStorage(options: CopyOptions): Promise<Copied> {
  try {
    return await copy(options)
  } catch (error) {
    throw withoutFlag(error as Error)
  }
}

async function copy(options: CopyOptions): Promise<Copied> {
  const { from, to, source, overwrite, onWritten = () => {} } = options
  if (isSameFile(from, to)) throw new ConfigError(`FROM and TO are the same: ${showPlace(to)}`)
  const contents = await readContents(from, source)
  const isKept = ({ key }: Entry): boolean => to.engine !== 'snapshot' || !isOfMachine(key)
  // What was written first is written first again.
  const entries = contents.entries.filter(isKept).sort((a, b) => a.revision - b.revision)
  const target = await openTarget(options)
  try {
    if (target.objects > 0 && !overwrite)
      throw new ConfigError(
        `${showPlace(to)} holds objects already (${target.objects}): pass --overwrite to replace them, or name another place`,
      )
    const after = Math.max(contents.revision, target.revision)
    const all = entries.length
    const toRevision = await target.write(entries, { after, onWritten: (count) => onWritten(count, all) })
    return { objects: all, fromRevision: contents.revision, toRevision }
  } finally {
    await target.close()
  }
}

/** The engines name a flag of the server, where a copy has none. */
function withoutFlag(error: Error): Error {
  const message = error.message.replace('name another with --storage', 'name another place')
  if (message === error.message || !(error instanceof ConfigError)) return error
  return new ConfigError(message)
}

async function openTarget(options: CopyOptions): Promise<Target> {
  const { to } = options
  if (to.engine === 'etcd') return await openEtcd(to.endpoints, options)
  const { snapshotTarget, sqliteTarget } = await import('./to-file.ts')
  return to.engine === 'sqlite' ? await sqliteTarget(to.file) : snapshotTarget(to.file)
}

async function openEtcd(endpoints: readonly string[], options: CopyOptions): Promise<Target> {
  const [{ openEtcdPlace }, { etcdTarget }, { Leases }] = await Promise.all([
    import('./etcd-place.ts'),
    import('./to-etcd.ts'),
    import('../etcd/leases.ts'),
  ])
  const { from, source, target, expiring } = options
  const place = await openEtcdPlace(endpoints, target)
  try {
    if (from.engine === 'etcd') {
      const other = await openEtcdPlace(from.endpoints, source)
      other.client.close()
      checkApart(other, place)
    }
    const leases = new Leases(place.client, target.clock.machine)
    for (const rule of expiring) leases.add(rule)
    return await etcdTarget(place, leases)
  } catch (error) {
    place.client.close()
    throw error
  }
}

/** Throws a ConfigError where one prefix is a part of the other. */
function checkApart(from: EtcdPlace, to: EtcdPlace): void {
  const isInside = from.prefix.startsWith(to.prefix) || to.prefix.startsWith(from.prefix)
  if (from.clusterId === to.clusterId && isInside)
    throw new ConfigError(
      `FROM and TO are in one etcd, below ${from.prefix} and ${to.prefix}: name another prefix with --to-etcd-prefix`,
    )
}
