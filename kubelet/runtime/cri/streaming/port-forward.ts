import { readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { Gathered } from '../../../../shared/client/gathered.ts'
import type { Clock } from '../../../../shared/clock/clock.ts'
import { SpdyClient } from '../../../../shared/spdy/client.ts'
import type { SpdyStream } from '../../../../shared/spdy/stream.ts'
import { parseSockets } from '../../process/ports/listeners.ts'
import { openSpdy } from './upgrade.ts'

const protocol = 'portforward.k8s.io'
const maxErrorBytes = 16 * 1024

/** Connects to a port of the pod's localhost through the runtime's streaming server. */
export async function forwardPort(url: string, port: number, clock: Clock): Promise<Duplex> {
  const client = new SpdyClient(await openSpdy(url, protocol, clock))
  try {
    const headers = { port: String(port), requestid: '0' }
    const error = await client.open({ ...headers, streamtype: 'error' })
    const data = await client.open({ ...headers, streamtype: 'data' })
    error.end()
    void endWith(data, error)
    data.on('close', () => client.close())
    return data
  } catch (error) {
    client.close()
    throw error
  }
}

/** Ends the connection with the failure that the server reports. */
async function endWith(data: Duplex, error: SpdyStream): Promise<void> {
  const said = new Gathered('the error of a port', maxErrorBytes)
  try {
    for await (const part of error) said.add(part as Buffer)
  } catch {}
  if (said.length > 0) data.destroy(new Error(said.take().toString()))
}

/** Says if a program listens on the port in the network of this process; undefined where we may not see that. */
export function isListening(pid: number, port: number): boolean | undefined {
  try {
    const tables = ['tcp', 'tcp6'].map((name) => readFileSync(`/proc/${pid}/net/${name}`, 'latin1'))
    return tables.flatMap(parseSockets).some((socket) => socket.port === port)
  } catch {
    return undefined
  }
}
