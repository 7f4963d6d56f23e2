/** Satellites find what the registry keeps with these, and keep something beside it. */
export type { Catalog } from './catalog.ts'
export { type DeletionRequests, maxObjects, maxRequests, type TimedTries } from './deletion-requests.ts'
export { startExpiry } from './expiry.ts'
export { keyPrefix, objectKey } from './keys.ts'
export type { ObjectCaches } from './object-caches.ts'
