import { randomUUID } from 'node:crypto'

/**
 * Returns a random ID of 64 hex digits, like containerd's. It is made of UUIDs, of which Node keeps random bytes in
 * store: bytes of its own would be a call of the kernel for each ID.
 */
export const newId = (): string => `${randomUUID()}${randomUUID()}`.replaceAll('-', '')
