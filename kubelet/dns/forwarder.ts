import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import type { Clock } from '../../shared/clock/clock.ts'
import type { NetworkPlace } from '../runtime/network/node-network.ts'
import { framed, messages } from './frames.ts'

export interface ForwarderOptions {
  clock: Clock
  /** The resolvers to ask, in this order. */
  servers(): NetworkPlace[]
  warn(message: string): void
}

export type Transport = 'udp' | 'tcp'

/** The time for one resolver: two of them take less than the five seconds after which a program asks again. */
const ANSWER_MS = 2_000
const MAX_SERVERS = 2
/** Limits the questions at once, so that a flood takes no more sockets; others fail. */
const MAX_OUTSTANDING = 256

/** Asks the resolvers of the machine, and tells when they do not answer. */
export class Forwarder {
  readonly #options: ForwarderOptions
  #outstanding = 0
  #told = ''

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  /** Resolves to the answer, with the id of the question; undefined if there is none. */
  async ask(question: Buffer, transport: Transport): Promise<Buffer | undefined> {
    if (this.#outstanding >= MAX_OUTSTANDING) return this.#fails(`${MAX_OUTSTANDING} questions wait for answers`)
    const servers = this.#options.servers().slice(0, MAX_SERVERS)
    if (servers.length === 0) return this.#fails('/etc/resolv.conf of the machine names no resolver')
    this.#outstanding += 1
    try {
      const why: string[] = []
      for (const server of servers) {
        try {
          const answer = await this.#askOne(server, question, transport)
          question.copy(answer, 0, 0, 2)
          this.#told = ''
          return answer
        } catch (error) {
          why.push(`${server.host}: ${(error as Error).message}`)
        }
      }
      return this.#fails(why.join(', '))
    } finally {
      this.#outstanding -= 1
    }
  }

  #fails(why: string): undefined {
    if (this.#told !== why) this.#options.warn(`names outside of the cluster cannot be resolved: ${why}`)
    this.#told = why
  }

  /** The id is random, as the port is: only the resolver knows them. */
  #askOne(server: NetworkPlace, question: Buffer, transport: Transport): Promise<Buffer> {
    const id = randomInt(0x10000)
    const sent = Buffer.from(question)
    sent.writeUInt16BE(id)
    const answered = Promise.withResolvers<Buffer>()
    const take = (answer: Buffer): void => {
      if (answer.length >= HEADER && answer.readUInt16BE() === id && (answer.readUInt8(2) & 0x80) !== 0)
        answered.resolve(answer)
    }
    const close = (transport === 'udp' ? askByDatagram : askByConnection)(server, sent, take, answered.reject)
    const timer = this.#options.clock.machine.setTimer(ANSWER_MS, () =>
      answered.reject(new Error(`no answer within ${ANSWER_MS / 1_000} s`)),
    )
    return answered.promise.finally(() => {
      timer.cancel()
      close()
    })
  }
}

/** The bytes that each message of DNS has. */
export const HEADER = 12

type Ask = (
  server: NetworkPlace,
  sent: Buffer,
  take: (answer: Buffer) => void,
  fail: (error: Error) => void,
) => () => void

/**
 * A connected socket hears the resolver alone, and that no process listens there. Without a way to the resolver
 * connecting fails, which the callback is told, too.
 */
const askByDatagram: Ask = ({ host, port }, sent, take, fail) => {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  socket.on('message', take).on('error', fail)
  socket.connect(port, host, (error?: Error) => (error ? fail(error) : socket.send(sent)))
  return () => socket.close()
}

const askByConnection: Ask = ({ host, port }, sent, take, fail) => {
  const socket = connect({ host, port })
  socket.on('error', fail).write(framed(sent))
  const read = async (): Promise<void> => {
    for await (const answer of messages(socket)) take(answer)
    fail(new Error('the connection was closed'))
  }
  read().catch(fail)
  return () => socket.destroy()
}
