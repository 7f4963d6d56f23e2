/** What HTTP/1.1 lets a client say slowly, endlessly or in very small parts. */
import type { Attack } from '../attack.ts'
import type { Attacker } from '../attacker.ts'

const request = (line: string, ...fields: string[]): string =>
  [`${line} HTTP/1.1`, 'Host: x', ...fields, '', ''].join('\r\n')
const bytes = (...parts: string[]): Buffer[] => parts.map((part) => Buffer.from(part))
const chunked = request(
  'POST /api/v1/namespaces/default/configmaps',
  'Transfer-Encoding: chunked',
  'Content-Type: application/json',
)

/** Opens connections that have each said so much, and leaves them so. */
const leaving =
  (connections: number, said: Buffer[]) =>
  async (attacker: Attacker): Promise<void> => {
    for (let count = 0; count < connections; count++) {
      const { socket } = await attacker.connect('anonymous', 'http/1.1')
      await attacker.send(socket, said)
    }
  }

export const http1Bytes: Attack[] = [
  { name: 'HTTP/1.1: a head without end', bytes: () => bytes('GET / HTTP/1.1\r\n', 'a: b\r\n'.repeat(200_000)) },
  { name: 'HTTP/1.1: one field without end', bytes: () => bytes('GET / HTTP/1.1\r\na: ', 'b'.repeat(2_000_000)) },
  {
    name: 'HTTP/1.1: empty lines before a request',
    bytes: () => bytes('\r\n'.repeat(500_000), request('GET /version')),
  },
  {
    name: 'HTTP/1.1: chunks of one byte',
    by: 'admin',
    bytes: () => bytes(chunked, '1\r\n \r\n'.repeat(50_000), '0\r\n\r\n'),
    budget: { nsPerByte: 3_000, bystanderMs: 400 },
  },
  {
    name: 'HTTP/1.1: extensions of chunks',
    by: 'admin',
    bytes: () => bytes(chunked, `1;${'a=b;'.repeat(4_000)}\r\n \r\n`.repeat(50), '0\r\n\r\n'),
  },
  {
    name: 'HTTP/1.1: trailers without end',
    by: 'admin',
    bytes: () => bytes(chunked, '0\r\n', 'a: b\r\n'.repeat(100_000)),
  },
  {
    name: 'HTTP/1.1: requests one behind the other, of which no answer is awaited',
    bytes: () => bytes(request('GET /version').repeat(3_000)),
    budget: { nsPerByte: 12_000 },
  },
  {
    name: 'HTTP/1.1: many heads that stop in the middle',
    act: leaving(60, bytes('GET / HTTP/1.1\r\na: ')),
    budget: { msPerRequest: 15 },
  },
  {
    name: 'HTTP/1.1: many bodies that stop in the middle',
    act: leaving(60, bytes(request('POST /api/v1/namespaces', 'Content-Length: 3000000'), '{')),
    budget: { msPerRequest: 15 },
  },
]
