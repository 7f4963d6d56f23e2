import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, Writable } from 'node:stream'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import { requestError } from '../../../shared/client/call-errors.ts'
import type { Upgrade } from '../../../shared/http/upgrades.ts'
import type { Exchange } from '../exchange.ts'
import { type BackendRequest, requestOf } from './backend.ts'

/** A client that wants its connection for itself. */
export interface Joining {
  exchange: Exchange
  upgrade: Upgrade
}

/** Says why a client is not joined: the backend cannot be reached, or answers something other than an upgrade. */
export type Refusal = { unreachable: string } | { answer: IncomingMessage }

/**
 * Joins the client to a server that agrees to the upgrade. Otherwise `refuse` answers the client. Default: the answer
 * of the server is passed on, and without one it rejects with a StatusError (500).
 */
export function joinTo(
  backend: Omit<BackendRequest, 'method'>,
  { exchange, upgrade }: Joining,
  refuse: (refusal: Refusal) => void | Promise<void> = (refusal) => passOn(refusal, exchange),
): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = requestOf({ ...backend, method: exchange.request.method })
    const abandon = (): void => void outgoing.destroy()
    upgrade.socket.once('close', abandon)
    const end = async (refusal: Refusal): Promise<void> => refuse(refusal)
    outgoing.on('error', (error) => end({ unreachable: requestError(error, backend.url) }).then(resolve, reject))
    outgoing.on('response', (answer) => end({ answer }).then(resolve, reject))
    outgoing.on('upgrade', (answer, joined, head) => {
      upgrade.socket.off('close', abandon)
      exchange.takeOver().detachSocket(upgrade.socket as Socket)
      const names = answer.rawHeaders.filter((_, index) => index % 2 === 0)
      const lines = names.map((name, index) => `${name}: ${answer.rawHeaders[2 * index + 1]}`)
      upgrade.socket.write(['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n'))
      upgrade.socket.write(head)
      joined.write(upgrade.head)
      tie(upgrade.socket, joined)
      tie(joined, upgrade.socket)
      resolve()
    })
    outgoing.end()
  })
}

/** Answers as a real server does, by an error without a reason. */
function passOn(refusal: Refusal, exchange: Exchange): void {
  if ('unreachable' in refusal)
    throw new StatusError({ code: 500, message: `error dialing backend: ${refusal.unreachable}` })
  const { answer } = refusal
  const response = exchange.takeOver()
  response.writeHead(answer.statusCode ?? 500, { ...answer.headers, connection: 'close' })
  answer.pipe(response)
  answer.on('error', () => response.destroy())
}

/**
 * Passes on what one side writes, and ends each side with the other. Chunks that were written together would become one
 * TLS record, and clients that poll their connection (Python's) would not see the second message in it.
 */
function tie(from: Duplex, to: Duplex): void {
  from.on('error', () => from.destroy())
  from.on('close', () => (from.readableEnded ? to.end() : to.destroy()))
  const oneByOne = new Writable({
    write: (chunk: Buffer, _encoding, done) => void to.write(chunk, done),
    final: (done) => void to.end(done),
  })
  oneByOne.on('error', () => from.destroy())
  from.pipe(oneByOne)
}
