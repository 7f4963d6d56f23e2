import { type DecodedPacket, decode, encode, type Packet } from 'dns-packet'
import { CLUSTER_DOMAIN } from '../pod/cluster-domain.ts'
import { AnswerCache, type Rotation } from './answer-cache.ts'
import { type Forwarder, HEADER, type Transport } from './forwarder.ts'
import { type Answer, type Found, lookUp, TTL, type ZoneServices } from './zone.ts'

const REPLY = { noError: 0, malformed: 1, serverFailure: 2, noSuchName: 3, notImplemented: 4, refused: 5 }
const FLAG = { authoritative: 0x400, truncated: 0x200, recursionDesired: 0x100, recursionAvailable: 0x80 }
/** Bits of the third byte that say what is asked for; a query has none of them. */
const OPERATION = 0x78
/** A program takes this much by UDP unless it asks for more; the second is the most that is sent. */
const SMALLEST = 512
const LARGEST = 1_232
/** An ExternalName may name another one; longer chains are taken for loops. */
const MAX_ALIASES = 8

type Asked = { name: string; type: string }
interface Outcome extends Partial<Found> {
  code: number
  answers: Answer[]
}

/** Answers questions about names of the cluster; passes on others. */
export class Resolver {
  readonly #services: ZoneServices
  readonly #forwarder: Pick<Forwarder, 'ask'>
  readonly #caches: Record<Transport, AnswerCache> = { udp: new AnswerCache(), tcp: new AnswerCache() }

  constructor(services: ZoneServices, forwarder: Pick<Forwarder, 'ask'>) {
    this.#services = services
    this.#forwarder = forwarder
    services.onChange(() => {
      for (const cache of Object.values(this.#caches)) cache.clear()
    })
  }

  /** Returns an answer that was given since Services have changed. */
  cached(bytes: Buffer, transport: Transport): Buffer | undefined {
    return this.#caches[transport].find(bytes)
  }

  /** Resolves to the answer; undefined for what deserves none: no question at all. */
  async answer(bytes: Buffer, transport: Transport): Promise<Buffer | undefined> {
    if (bytes.length < HEADER || (bytes.readUInt8(2) & 0x80) !== 0) return undefined
    if ((bytes.readUInt8(2) & OPERATION) !== 0) return refusal(bytes, REPLY.notImplemented)
    let query: DecodedPacket
    try {
      query = decode(bytes)
    } catch {
      return refusal(bytes, REPLY.malformed)
    }
    const [question, ...more] = query.questions ?? []
    if (!question || more.length > 0) return refusal(bytes, REPLY.malformed)
    if (question.class !== 'IN') return refusal(bytes, REPLY.refused)
    const found = lookUp(this.#services, question)
    if (!found) return (await this.#forwarder.ask(bytes, transport)) ?? refusal(bytes, REPLY.serverFailure)
    const outcome = this.#follow(found, question)
    if (outcome instanceof Promise) return rotation(query, await outcome, transport).write(0)
    return this.#caches[transport].keep(bytes, rotation(query, outcome, transport))
  }

  /** Resolves the name for which an ExternalName stands, too; that may be one outside of the cluster. */
  #follow(found: Found, { type }: Asked): Outcome | Promise<Outcome> {
    let outcome: Outcome = { ...found, code: found.exists ? REPLY.noError : REPLY.noSuchName }
    for (let count = 0; outcome.alias !== undefined && type !== 'CNAME'; count++) {
      const { alias: name, answers } = outcome
      if (count === MAX_ALIASES) return { code: REPLY.serverFailure, answers: [] }
      const next = lookUp(this.#services, { name, type })
      if (!next)
        return this.#askOutside({ name, type }).then((other) => ({ ...other, answers: [...answers, ...other.answers] }))
      outcome = { ...next, answers: [...answers, ...next.answers], code: outcome.code }
    }
    return outcome
  }

  async #askOutside({ name, type }: Asked): Promise<Outcome> {
    const failure = { code: REPLY.serverFailure, answers: [] }
    const question = encode({
      type: 'query',
      flags: FLAG.recursionDesired,
      questions: [{ name, type: type as Answer['type'] }],
    })
    try {
      let answer = await this.#forwarder.ask(question, 'udp')
      if (answer && (answer.readUInt16BE(2) & FLAG.truncated) !== 0) answer = await this.#forwarder.ask(question, 'tcp')
      if (!answer) return failure
      const { answers = [] } = decode(answer)
      return { code: answer.readUInt8(3) & 0xf, answers: answers as Answer[] }
    } catch {
      return failure
    }
  }
}

/** Programs take the first address: by orders that begin with another one, all get their share. */
function rotation(query: DecodedPacket, outcome: Outcome, transport: Transport): Rotation {
  const { code, answers, additionals = [] } = outcome
  const edns = query.additionals?.find((record) => record.type === 'OPT')
  const own = edns ? [OWN_LIMIT] : []
  const packet: Packet = {
    type: 'response',
    id: query.id,
    flags: code | FLAG.authoritative | FLAG.recursionAvailable | ((query.flags ?? 0) & FLAG.recursionDesired),
    questions: query.questions,
    authorities: answers.length === 0 && code !== REPLY.serverFailure ? [START_OF_AUTHORITY] : [],
    additionals: [...additionals, ...own],
  }
  const room = Math.min(Math.max(edns?.udpPayloadSize ?? SMALLEST, SMALLEST), LARGEST)
  // An alias stays before what it stands for.
  const aliases = answers.filter(({ type }) => type === 'CNAME')
  const others = answers.filter(({ type }) => type !== 'CNAME')
  return {
    orders: others.length,
    write(order) {
      const ordered = [...aliases, ...others.slice(order), ...others.slice(0, order)]
      const whole = encode({ ...packet, answers: ordered })
      if (transport === 'tcp' || whole.length <= room) return whole
      return encode({ ...packet, flags: (packet.flags ?? 0) | FLAG.truncated, answers: [], additionals: own })
    },
  }
}

/** Says how much we take by UDP; the rest of the record says nothing. */
const OWN_LIMIT = {
  type: 'OPT' as const,
  name: '.',
  udpPayloadSize: LARGEST,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
}

/** Says how long a name may be taken for one that does not exist. */
const START_OF_AUTHORITY = {
  name: CLUSTER_DOMAIN,
  type: 'SOA' as const,
  ttl: TTL,
  data: {
    mname: `ns.dns.${CLUSTER_DOMAIN}`,
    rname: `hostmaster.${CLUSTER_DOMAIN}`,
    serial: 1,
    refresh: 7_200,
    retry: 1_800,
    expire: 86_400,
    minimum: TTL,
  },
}

/** The head of a question with an error, without what cannot be read. */
function refusal(bytes: Buffer, code: number): Buffer {
  const answer = Buffer.alloc(HEADER)
  bytes.copy(answer, 0, 0, 3)
  answer.writeUInt8(answer.readUInt8(2) | 0x80, 2)
  answer.writeUInt8(code | FLAG.recursionAvailable, 3)
  return answer
}
