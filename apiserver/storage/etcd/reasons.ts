import { ConfigError } from '../../../shared/config/option.ts'
import { GrpcError, grpcCodes } from '../../../shared/grpc/status.ts'
import { StorageFullError, StorageUnavailableError, ValueTooLargeError } from '../engine.ts'
import { tlsReason } from './client.ts'

/** The codes of etcd's errors are shared by many: their texts tell them apart. */
const isFull = ({ message }: GrpcError): boolean => message.includes('database space exceeded')
const isTooLarge = ({ code, message }: GrpcError): boolean =>
  (code === grpcCodes.invalidArgument && message.includes('request is too large')) ||
  (code === grpcCodes.resourceExhausted && message.includes('larger than max'))
export const isCompacted = (error: unknown): boolean =>
  error instanceof GrpcError && error.code === grpcCodes.outOfRange && error.message.includes('compacted')

/** Returns the error that the store reports for a failed call: one sentence, which names etcd and what to do. */
export function storageError(error: unknown, place: string): Error {
  if (!(error instanceof GrpcError)) return error as Error
  if (isTooLarge(error)) return new ValueTooLargeError('etcdserver: request is too large')
  if (isFull(error)) {
    const remedy = 'make room with etcdctl compact and etcdctl defrag, then etcdctl alarm disarm'
    return new StorageFullError(`${place} is full (${error.message}); ${remedy}`)
  }
  return new StorageUnavailableError(`${place} ${reasonOf(error)}`)
}

/**
 * Returns the error that is reported if a failed call keeps a server from starting: a ConfigError of one sentence,
 * which names etcd and what to do.
 */
export function startError(error: unknown, place: string): Error {
  return error instanceof GrpcError ? new ConfigError(`${place} ${reasonOf(error)}`) : (error as Error)
}

function reasonOf(error: GrpcError): string {
  const tls = tlsReason(error.cause)
  if (tls !== undefined) return `cannot be used: ${tls}`
  if (error.code === grpcCodes.unimplemented || /Protocol error|HTTP status/i.test(error.message))
    return `does not speak etcd's API of version 3 (${error.message}); use etcd 3.4 or later`
  if (isUnknownUser(error))
    return `refuses us (${error.message}); pass the certificate of a user that may use the prefix with --etcd-certfile`
  if (/during the TLS handshake/.test(error.message))
    return `cannot be reached: ${error.message}; start it, or name it with http:// if it has no TLS`
  if (!error.wasSent) return `cannot be reached: ${error.message}; start it, or name another with --storage`
  return `did not answer: ${error.message}; try again when it is healthy`
}

/** With etcd's users switched on, a client without a name gets the code of a mistake of its own. */
const isUnknownUser = ({ code, message }: GrpcError): boolean =>
  code === grpcCodes.permissionDenied ||
  code === grpcCodes.unauthenticated ||
  message.includes('etcdserver: user name is empty')
