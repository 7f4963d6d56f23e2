import { randomBytes } from 'node:crypto'

/** 64 hex digits, as containerd's. */
export const newId = (): string => randomBytes(32).toString('hex')
