/** Frames that cost the sender next to nothing. */
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  GOAWAY,
  get,
  HEADERS,
  head,
  INITIAL_WINDOW_SIZE,
  PADDED,
  PING,
  PRIORITY,
  post,
  RST_STREAM,
  SETTINGS,
  settings,
  uint32,
  WINDOW_UPDATE,
  whole,
} from '../../apiserver/http2/raw-client.ts'
import type { Attack } from '../attack.ts'
import { times } from '../times.ts'

const HEADER_TABLE_SIZE = 1
const cancel = uint32(8)

const repeated = (count: number, bytes: Buffer): Buffer[] => times(count, () => bytes)
const idOf = (index: number): number => 2 * index + 1

/** Requests whose body is still to come. */
const openStreams = (count: number): Buffer[] =>
  times(count, (index) => frame(HEADERS, END_HEADERS, idOf(index), post(['content-length', '9'])))
/** With valid credentials a client may have more streams, once a request has shown them. */
const identified = frame(HEADERS, whole, 1, get('/version'))
const later = (frames: Buffer[]): Buffer[] => [identified, ...frames]

/** A field of 3,900 bytes into the table, as the last of a head. */
const large = Buffer.concat([Buffer.from([0x40, 1, 0x78, 0x7f, 0xbd, 0x1d]), Buffer.alloc(3_900, 'v')])
const references = Buffer.alloc(16_000, 0xbe)
const bombOf = (id: number, flags: number): Buffer[] => [
  frame(HEADERS, flags, id, Buffer.concat([get(), references.subarray(0, 15_000)])),
  frame(CONTINUATION, 0, id, references),
  frame(CONTINUATION, END_HEADERS, id, references),
]

function slowHuffman(id: number): Buffer {
  // 30 bits each: the longest codes there are.
  const value = Buffer.from('ffffffc3fffffff0fffffffc3fffffff'.repeat(400), 'hex')
  const length = Buffer.from([0xff, ...sevenBits(value.length - 0x7f)])
  return frame(HEADERS, whole, id, Buffer.concat([get(), Buffer.from([0, 1, 0x79]), length, value]))
}

const sevenBits = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...sevenBits(value >> 7)]

/** Frames of a few bytes, of which each is a case of its own. */
const cheapFrames = { nsPerByte: 1_500 }
/** A small request is answered for more than its bytes would pay. */
const smallRequests = { nsPerByte: 12_000 }

export const http2Frames: Attack[] = [
  {
    name: 'rapid reset: requests that are cancelled at once',
    frames: () =>
      times(4_000, (i) => [
        frame(HEADERS, whole, idOf(i), get('/version')),
        frame(RST_STREAM, 0, idOf(i), cancel),
      ]).flat(),
    budget: smallRequests,
  },
  {
    name: 'requests that the server resets, for a mistake that follows each',
    frames: () =>
      times(4_000, (i) => [
        frame(HEADERS, END_HEADERS, idOf(i), post()),
        frame(WINDOW_UPDATE, 0, idOf(i), uint32(0)),
      ]).flat(),
    budget: smallRequests,
  },
  {
    name: 'CONTINUATION without end, empty',
    frames: () => [frame(HEADERS, 0, 1, get()), ...repeated(50_000, frame(CONTINUATION, 0, 1))],
    budget: cheapFrames,
  },
  {
    name: 'CONTINUATION without end, full',
    frames: () => [frame(HEADERS, 0, 1, get()), ...repeated(500, frame(CONTINUATION, 0, 1, Buffer.alloc(16_000, 1)))],
  },
  { name: 'PING', frames: () => repeated(50_000, frame(PING, 0, 0, Buffer.alloc(8))), budget: cheapFrames },
  { name: 'SETTINGS, empty', frames: () => repeated(50_000, frame(SETTINGS, 0, 0)), budget: cheapFrames },
  {
    name: 'SETTINGS full of window sizes, over many open streams',
    by: 'admin',
    frames: () =>
      later([
        ...openStreams(9_000).slice(1),
        settings(times(2_700, (index) => [INITIAL_WINDOW_SIZE, 1_000 + (index % 2)])),
        ...times(10, (index) => settings([[INITIAL_WINDOW_SIZE, 70_000 + index]])),
      ]),
    budget: smallRequests,
  },
  {
    name: 'SETTINGS full of table sizes',
    frames: () => repeated(100, settings(times(2_700, (index) => [HEADER_TABLE_SIZE, index % 2 ? 4_096 : 0]))),
  },
  {
    name: 'DATA, empty',
    frames: () => [...openStreams(1), ...repeated(50_000, frame(DATA, 0, 1))],
    budget: cheapFrames,
  },
  {
    name: 'DATA that is all padding',
    frames: () => [...openStreams(1), ...repeated(10_000, frame(DATA, PADDED, 1, Buffer.alloc(256, 255)))],
  },
  {
    name: 'PRIORITY',
    frames: () => times(50_000, (index) => frame(PRIORITY, 0, idOf(index), Buffer.from([0, 0, 0, 0, 9]))),
    budget: cheapFrames,
  },
  { name: 'GOAWAY', frames: () => repeated(50_000, frame(GOAWAY, 0, 0, Buffer.alloc(8))), budget: cheapFrames },
  { name: 'frames of an unknown type', frames: () => repeated(50_000, frame(0x42, 0, 0)), budget: cheapFrames },
  {
    name: 'WINDOW_UPDATE of a stream while many answers wait for the connection',
    by: 'admin',
    settings: [[INITIAL_WINDOW_SIZE, 2 ** 20]],
    frames: () =>
      later([
        ...times(2_000, (index) => frame(HEADERS, whole, idOf(index + 1), get('/openapi/v3'))),
        ...repeated(100_000, frame(WINDOW_UPDATE, 0, 5, uint32(1))),
      ]),
    budget: { nsPerByte: 4_000 },
  },
  {
    name: 'WINDOW_UPDATE of the connection while many answers wait for it',
    by: 'admin',
    settings: [[INITIAL_WINDOW_SIZE, 2 ** 20]],
    frames: () =>
      later([
        ...times(2_000, (index) => frame(HEADERS, whole, idOf(index + 1), get('/openapi/v3'))),
        ...repeated(20_000, frame(WINDOW_UPDATE, 0, 0, uint32(1))),
      ]),
    budget: { nsPerByte: 4_000 },
  },
  {
    name: 'HPACK bomb in heads',
    frames: () => [
      frame(HEADERS, whole, 1, Buffer.concat([get(), large])),
      ...times(50, (index) => bombOf(idOf(index + 1), END_STREAM)).flat(),
    ],
    budget: { nsPerByte: 250 },
  },
  {
    name: 'HPACK bomb in trailers',
    frames: () => [
      frame(HEADERS, END_HEADERS, 1, Buffer.concat([post(), large])),
      ...times(50, (index) => {
        const id = idOf(index + 1)
        return [
          frame(HEADERS, END_HEADERS, id, post(['content-length', '0'])),
          frame(HEADERS, END_STREAM, id, references),
          ...repeated(2, frame(CONTINUATION, 0, id, references)),
          frame(CONTINUATION, END_HEADERS, id, references),
        ]
      }).flat(),
    ],
    budget: { nsPerByte: 250 },
  },
  {
    name: 'HPACK: changes of the size of the table',
    frames: () => times(100, (index) => frame(HEADERS, whole, idOf(index), Buffer.alloc(16_000, 0x20))),
  },
  {
    name: 'HPACK: empty fields',
    frames: () =>
      times(100, (index) =>
        frame(HEADERS, whole, idOf(index), Buffer.concat([get(), ...repeated(4_000, head([['a', '']]))])),
      ),
  },
  { name: 'HPACK: the longest codes of Huffman', frames: () => times(100, (index) => slowHuffman(idOf(index))) },
  {
    name: 'HEADERS on a stream that the server has reset',
    frames: () => [
      frame(HEADERS, END_HEADERS, 1, head([['x', 'no method']])),
      ...repeated(20_000, frame(HEADERS, whole, 1, head([['x', 'y']]))),
    ],
    budget: cheapFrames,
  },
]
