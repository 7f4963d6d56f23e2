/** Bytes of HTTP/1.1 at a whole server: an answer or the end of the connection, no error of the server's own, and it goes on. */
import { once } from 'node:events'
import { connect } from 'node:tls'
import { pino } from 'pino'
import { startTestApiServer } from '../../harness/api-server.ts'
import type { Fuzzer } from '../fuzzer.ts'
import type { Random } from '../random.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const body = '{"metadata":{"name":"x"}}'
const requests = [
  `GET ${configMaps} HTTP/1.1\r\nHost: x\r\n\r\n`,
  `POST ${configMaps}?dryRun=All HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  `POST ${configMaps}?dryRun=All HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"met\r\n0\r\n\r\n`,
  `GET ${configMaps}?watch=1&timeoutSeconds=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  'GET /version HTTP/1.0\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n',
].map((text) => Buffer.from(text))

const saidByUs = (line: string): boolean => !/not acceptable|aborted/.test(line)

export const http1Bytes: Fuzzer = {
  name: 'HTTP/1.1 bytes',
  attempts: 50,
  async start() {
    const ends: (() => unknown)[] = []
    const mishaps: string[] = []
    const log = pino({ level: 'error' }, { write: (line: string) => void mishaps.push(line) })
    const server = await startTestApiServer({ teardown: (end) => void ends.push(end) }, {}, log)
    return {
      async attempt(random: Random) {
        const socket = connect({ ...server.tls, port: server.port, host: '127.0.0.1', ALPNProtocols: ['http/1.1'] })
        socket.on('error', () => {}).resume()
        await once(socket, 'secureConnect')
        const sent = random.times(3, () => random.mutated(random.pick(requests)))
        for (const piece of random.pieces(Buffer.concat(sent))) socket.write(piece)
        socket.end()
        if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve))
        const own = mishaps.splice(0).filter(saidByUs)
        if (own.length > 0) throw new Error(own.join(''))
        const { status } = await server.send('/version')
        if (status !== 200) throw new Error(`/version answers ${status}`)
      },
      async end() {
        for (const end of ends) await end()
      },
    }
  },
}
