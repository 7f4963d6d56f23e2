import type { User } from '../kind/user.ts'
import type { Authenticator } from './types.ts'

/**
 * Maps the socket object of a request that comes by `inject` to its user. Such sockets are made in this process: no
 * client on the network has one.
 */
const users = new WeakMap<object, User>()

/** From now on requests with this socket object, which must not be a connection, act as the user. */
export const actOn = (socket: object, user: User): void => void users.set(socket, user)

/** Knows injected requests, and no others. */
export const injected: Authenticator = { authenticate: ({ socket }) => users.get(socket) }
