import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { UsageError } from '../../../shared/config/option.ts'
import { parseStorage, type StorageChoice, showStorage } from '../open-storage.ts'

/** Where objects can be copied from and to: engines whose objects stay, and files of `kubestage snapshot`. */
export type CopyPlace = Exclude<StorageChoice, { engine: 'memory' | 'shared' }> | { engine: 'snapshot'; file: string }

const placeForms = 'snapshot:FILE, sqlite:PATH or etcd:https://HOST:PORT[,…]'

/** Throws a UsageError if the text does not name a place. */
export function parsePlace(text: string): CopyPlace {
  const [, file] = /^snapshot:(.+)$/.exec(text) ?? []
  if (file !== undefined) return { engine: 'snapshot', file }
  const choice = /^(sqlite|etcd):/.test(text) ? choiceOf(text) : undefined
  if (choice?.engine === 'sqlite' || choice?.engine === 'etcd') return choice
  const remedy =
    text === 'memory' ? '; what is in memory is copied from a file of kubestage snapshot, and by kubestage restore' : ''
  throw new UsageError(`${JSON.stringify(text)} must be ${placeForms}${remedy}`)
}

function choiceOf(text: string): StorageChoice | undefined {
  try {
    return parseStorage(text)
  } catch {
    return undefined
  }
}

export const showPlace = (place: CopyPlace): string =>
  place.engine === 'snapshot' ? `snapshot:${place.file}` : showStorage(place)

/**
 * Returns whether both places are the same file. Returns false for etcd: whether two etcd clusters are the same is
 * known only from their answers.
 */
export const isSameFile = (a: CopyPlace, b: CopyPlace): boolean =>
  a.engine !== 'etcd' && b.engine !== 'etcd' && realPath(a.file) === realPath(b.file)

const realPath = (file: string): string => (existsSync(file) ? realpathSync(file) : resolve(file))
