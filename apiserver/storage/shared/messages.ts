import { type Fence, FencedError, StorageFullError, StorageUnavailableError, ValueTooLargeError } from '../engine.ts'

/** Holder and members are of one version; another one is refused. */
export const protocol = 1

/** Precedes all keys. */
export const root = '/registry/'

export interface Hello {
  protocol: number
  /** The revision up to which the member knows everything; 0: it knows nothing. */
  after: number
}

/** Says what follows of a change. */
export const changeKinds = {
  /** `length`: of the value. */
  put: 0,
  /** The value is that of the member's own write; `length`: its ID. */
  own: 1,
  delete: 2,
  /** `length`: of the last value. */
  deleteWithLastValue: 3,
} as const

export type ChangeHead = [key: string, revision: number, kind: number, length: number]

/** `expect`: the revision of the key; 0: the key is absent, and for a delete any revision. */
export interface WriteHead {
  id: number
  key: string
  expect: number
  /** Gives the bytes of each part of the value, or of the last value of a delete; absent where there is none. */
  lengths?: readonly number[]
  isDelete?: boolean
  freeing?: boolean
  fence?: Fence
}

/** `revision`: of the write; 0: it was not made, since the key is at another revision. */
export type ResultHead = [id: number, revision: number, error?: ErrorWords]

export interface ErrorWords {
  kind: keyof typeof kinds | 'fenced' | 'other'
  message: string
  fence?: Fence
}

const kinds = { full: StorageFullError, unavailable: StorageUnavailableError, tooLarge: ValueTooLargeError }

/** Returns what a member is told of the failure of its write. */
export function wordsOf(error: unknown, fence: Fence | undefined): ErrorWords {
  const { message } = error as Error
  if (error instanceof FencedError) return { kind: 'fenced', message, fence }
  const known = Object.entries(kinds).find(([, kind]) => error instanceof kind)
  return { kind: (known?.[0] as keyof typeof kinds | undefined) ?? 'other', message }
}

export function errorOf({ kind, message, fence }: ErrorWords): Error {
  if (kind === 'fenced' && fence) return new FencedError(fence)
  return kind === 'fenced' || kind === 'other' ? new Error(message) : new kinds[kind](message)
}

/** Cuts the bytes into texts of these lengths. Each is a string of its own. */
export function cut(body: Buffer, lengths: readonly number[]): string[] {
  let at = 0
  return lengths.map((length) => {
    const from = at
    at += length
    return body.toString('utf8', from, at)
  })
}
