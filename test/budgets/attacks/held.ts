/** Clients that hold what the server has for them: connections, handshakes, streams, and answers that they do not read. */
import { once } from 'node:events'
import { END_HEADERS, frame, get, HEADERS, INITIAL_WINDOW_SIZE, post, whole } from '../../apiserver/http2/raw-client.ts'
import type { Attack } from '../attack.ts'
import type { Attacker } from '../attacker.ts'

/** The beginning of a record of TLS, of which 500 bytes were announced. */
const partOfHello = Buffer.from([0x16, 3, 1, 1, 0xf4, 1, 0, 1, 0xf0, 3, 3])

const streams = (count: number, head: (index: number) => Buffer, flags = whole): Buffer[] =>
  Array.from({ length: count }, (_, index) => frame(HEADERS, flags, 2 * index + 3, head(index)))

async function connections(attacker: Attacker, count: number, protocol: 'h2' | 'http/1.1'): Promise<void> {
  for (let i = 0; i < count; i++) await attacker.connect('anonymous', protocol)
}

/** So many objects of 100 kB, deleted again in the end. */
async function withObjects(attacker: Attacker, count: number, attack: () => Promise<unknown>): Promise<void> {
  const session = attacker.session('admin')
  const collection = '/api/v1/namespaces/default/configmaps'
  const body = (index: number): string =>
    JSON.stringify({ metadata: { name: `held-${index}`, labels: { held: 'x' } }, data: { a: 'x'.repeat(100_000) } })
  for (let index = 0; index < count; index++) {
    await attacker.request(session, { method: 'POST', path: collection, body: body(index) })
  }
  await attack()
  await attacker.request(session, { method: 'DELETE', path: `${collection}?labelSelector=held` })
}

/** Requests pipelined over connections that are never read from. */
async function unreadHttp1(
  attacker: Attacker,
  connections: number,
  path: string,
  perConnection: number,
): Promise<void> {
  for (let count = 0; count < connections; count++) {
    const { socket } = await attacker.connect('admin', 'http/1.1')
    socket.pause()
    await attacker.send(socket, [Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(perConnection))])
  }
}

export const held: Attack[] = [
  {
    name: 'idle connections over HTTP/2',
    act: (attacker) => connections(attacker, 60, 'h2'),
    budget: { msPerRequest: 15 },
  },
  {
    name: 'idle connections over HTTP/1.1',
    act: (attacker) => connections(attacker, 60, 'http/1.1'),
    budget: { msPerRequest: 15 },
  },
  {
    name: 'TLS handshakes without end',
    async act(attacker) {
      for (let count = 0; count < 1_200; count++) await attacker.send(await attacker.tcp(), [partOfHello])
    },
    budget: { msPerRequest: 2 },
  },
  {
    name: 'TLS handshakes that are no handshakes',
    async act(attacker) {
      for (let count = 0; count < 100; count++) {
        const socket = await attacker.tcp()
        await attacker.send(socket, [Buffer.from('GET / HTTP/1.1\r\n\r\n')])
        if (!socket.destroyed) await once(socket, 'close')
      }
    },
    budget: { msPerRequest: 3 },
  },
  {
    name: 'bodies that never come, over HTTP/2',
    by: 'admin',
    frames: () => [
      frame(HEADERS, whole, 1, get('/version')),
      ...streams(3_000, () => post(['content-length', '3000000']), END_HEADERS),
    ],
    budget: { nsPerByte: 12_000 },
  },
  {
    name: 'large answers that are not read, over HTTP/2',
    by: 'admin',
    settings: [[INITIAL_WINDOW_SIZE, 0]],
    frames: () => [frame(HEADERS, whole, 1, get('/version')), ...streams(4_000, () => get('/openapi/v2'))],
    budget: { nsPerByte: 12_000, msPerRequest: 1_000, bystanderMs: 1_000 },
  },
  {
    name: 'lists that are not read, over HTTP/2',
    act: (attacker) =>
      withObjects(attacker, 100, () =>
        attacker.frames(
          'admin',
          [
            frame(HEADERS, whole, 1, get('/version')),
            ...streams(1_000, () => get('/api/v1/namespaces/default/configmaps')),
          ],
          [[INITIAL_WINDOW_SIZE, 0]],
        ),
      ),
    budget: { nsPerByte: 12_000, bystanderMs: 300 },
  },
  {
    name: 'lists that are not read, over HTTP/1.1',
    act: (attacker) =>
      withObjects(attacker, 100, () => unreadHttp1(attacker, 20, '/api/v1/namespaces/default/configmaps', 50)),
    budget: { nsPerByte: 12_000, msPerRequest: 15, bystanderMs: 300 },
  },
  ...Object.entries({
    tables: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    'lists of metadata': 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    'lists in YAML': 'application/yaml',
    'lists in protobuf': 'application/vnd.kubernetes.protobuf',
  }).map(
    ([what, accept]): Attack => ({
      name: `sixty ${what}, each of 20 MB, that are not read`,
      act: (attacker) =>
        withObjects(attacker, 200, () =>
          attacker.frames(
            'admin',
            [
              frame(HEADERS, whole, 1, get('/version')),
              ...streams(60, () =>
                get('/api/v1/namespaces/default/configmaps?includeObject=Object', ['accept', accept]),
              ),
            ],
            [[INITIAL_WINDOW_SIZE, 0]],
          ),
        ),
      // Ten lists take their turns at a time, each with a batch.
      budget: { nsPerByte: 12_000, bystanderMs: 900 },
    }),
  ),
  {
    name: 'large answers that are not read, over HTTP/1.1',
    act: (attacker) => unreadHttp1(attacker, 20, '/openapi/v2', 50),
    budget: { nsPerByte: 12_000, msPerRequest: 50, bystanderMs: 1_000 },
  },
  {
    name: 'watches that are not read, each of something else',
    async act(attacker) {
      const path = (index: number): string =>
        `/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name!%3Dbudgets%2Cmetadata.name!%3Dx${index}`
      await attacker.frames(
        'admin',
        [frame(HEADERS, whole, 1, get('/version')), ...streams(200, (i) => get(path(i)))],
        [[INITIAL_WINDOW_SIZE, 0]],
      )
      await withObjects(attacker, 40, async () => {})
    },
    budget: { nsPerByte: 12_000, bystanderMs: 2_000, rssMb: 1_050 },
  },
  {
    name: 'watches that open and close',
    by: 'admin',
    frames: () => [
      frame(HEADERS, whole, 1, get('/version')),
      ...streams(4_000, () => get('/api/v1/namespaces/default/configmaps?watch=1')),
    ],
    budget: { nsPerByte: 12_000 },
  },
]
