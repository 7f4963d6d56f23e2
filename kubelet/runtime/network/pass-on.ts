import { Socket } from 'node:net'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { NetworkPlace } from './node-network.ts'

/**
 * Passes on what comes by a connection by another one, and back. Resolves when both have ended. Where the other cannot
 * be had, or is reset, this one is reset.
 */
export async function passOn(socket: Socket, dialed: Promise<Socket>): Promise<void> {
  socket.allowHalfOpen = true
  socket.on('error', () => {})
  const other = await dialed.catch(() => undefined)
  if (!other) return void socket.resetAndDestroy()
  other.allowHalfOpen = true
  if (socket.destroyed) return void other.destroy()
  // A pipeline of Node costs half as much again.
  await Promise.all([flow(socket, other), flow(other, socket)])
}

/** Passes on what comes by one connection. Resolves when that is closed, with the other one unless that still sends. */
function flow(from: Socket, to: Socket): Promise<void> {
  from.pipe(to)
  from.once('error', () => to.resetAndDestroy())
  return new Promise((resolve) => {
    from.once('close', () => {
      if (!from.readableEnded) to.destroy()
      resolve()
    })
  })
}

interface DialOptions {
  clock: Clock
  timeoutMs: number
  /** Lies in the network of a node; default: in that of this machine. */
  socket?: Socket
}

/** Connects. Rejects with the error of a socket, also where nothing answers within the time. */
export function dialOut(
  to: NetworkPlace,
  { clock, timeoutMs, socket = new Socket({ allowHalfOpen: true }) }: DialOptions,
): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const late = (): Error => Object.assign(new Error('connect: ETIMEDOUT'), { code: 'ETIMEDOUT' })
  const timer = clock.machine.setTimer(timeoutMs, () => socket.destroy(late()), { background: true })
  socket.once('connect', () => resolve(socket)).once('error', reject)
  socket.connect(to)
  return promise.finally(() => {
    timer.cancel()
    socket.off('error', reject)
  })
}
