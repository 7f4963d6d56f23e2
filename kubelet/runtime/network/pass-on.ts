import { connect, type Socket } from 'node:net'
import { pipeline } from 'node:stream'
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
  other.once('error', () => socket.resetAndDestroy())
  socket.once('error', () => other.resetAndDestroy())
  return new Promise((resolve) => pipeline(socket, other, socket, () => resolve()))
}

/** Connects as a process of this machine. Rejects where nothing answers within the time. */
export function dialOut(to: NetworkPlace, { clock, timeoutMs }: { clock: Clock; timeoutMs: number }): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect({ ...to, allowHalfOpen: true })
  const timer = clock.machine.setTimer(timeoutMs, () => socket.destroy(new Error('no answer')), { background: true })
  socket.once('connect', () => resolve(socket)).once('error', reject)
  return promise.finally(() => {
    timer.cancel()
    socket.off('error', reject)
  })
}
