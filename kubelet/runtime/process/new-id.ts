import { randomBytes } from 'node:crypto'

/** Returns a random ID of 64 hex digits, like containerd's. */
export const newId = (): string => randomBytes(32).toString('hex')
