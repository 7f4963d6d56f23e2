import { queryObjects } from 'node:v8'
import t from 'tap'
import { HeaderDecoder } from '../../../shared/http2/hpack/header-decoder.ts'
import { encodeHead } from '../../../shared/http2/hpack/header-encoder.ts'
import { DynamicTable } from '../../../shared/http2/hpack/header-tables.ts'
import { decodeHuffman } from '../../../shared/http2/hpack/huffman.ts'
import { collectGarbage } from '../../../shared/memory/collect-garbage.ts'

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(/\s/g, ''), 'hex')

function fieldsOf(decoder: HeaderDecoder, block: Buffer): string[] {
  const fields: string[] = []
  decoder.decode(block, ({ name, value }) => fields.push(`${name}: ${value}`))
  return fields
}

const first = [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com']
const third = [':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com']
/** A table of 256 bytes, as the examples of answers have it. */
const smallTable = '3fe101'
const cookie = 'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'
const answer = (status: string, second: string): string[] => [
  `:status: ${status}`,
  'cache-control: private',
  `date: Mon, 21 Oct 2013 20:13:${second} GMT`,
  'location: https://www.example.com',
]

/** RFC 7541, appendix C: blocks of one connection after each other. */
const examples: Record<string, [string, string[]][]> = {
  'C.2.1: a literal to be remembered': [
    ['400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', ['custom-key: custom-header']],
  ],
  'C.2.2: a literal that is not': [['040c 2f73 616d 706c 652f 7061 7468', [':path: /sample/path']]],
  'C.2.3: a literal never to be': [['1008 7061 7373 776f 7264 0673 6563 7265 74', ['password: secret']]],
  'C.3: requests': [
    ['8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d', first],
    ['8286 84be 5808 6e6f 2d63 6163 6865', [...first, 'cache-control: no-cache']],
    [
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      [...third, 'custom-key: custom-value'],
    ],
  ],
  'C.4: the same as Huffman codes': [
    ['8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff', first],
    ['8286 84be 5886 a8eb 1064 9cbf', [...first, 'cache-control: no-cache']],
    ['8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf', [...third, 'custom-key: custom-value']],
  ],
  'C.6: a table that overflows': [
    [
      `${smallTable} 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad
       1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
      answer('302', '21'),
    ],
    ['4883 640e ffc1 c0bf', answer('307', '21')],
    [
      `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
       dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
      [...answer('200', '22'), 'content-encoding: gzip', cookie],
    ],
  ],
}

t.test("the RFC's examples", async (t) => {
  for (const [name, blocks] of Object.entries(examples)) {
    const decoder = new HeaderDecoder()
    // A status is C.6's first field; the order is the RFC's.
    for (const [hex, fields] of blocks) t.same(fieldsOf(decoder, bytesOf(hex)), fields, name)
  }
})

t.test('what is not HPACK', async (t) => {
  const broken: Record<string, string> = {
    'field number 0': '80',
    'a number beyond both tables': 'be',
    'a string that ends too early': '400a 6375',
    'a number that ends too early': 'ff80',
    'a number that is too large': 'ff ffff ffff 7f',
    'a table larger than allowed': '3fe2 1f',
    'a table size update after a field': '8220',
    'a Huffman code with eight bits of padding': '0001 6182 1fff',
    'padding that is not ones': '0001 6181 18',
    'the end of string within a string': '0001 6184 ffff ffff',
  }
  for (const [name, hex] of Object.entries(broken)) {
    t.throws(() => fieldsOf(new HeaderDecoder(), bytesOf(hex)), { code: 9 }, name)
  }
})

t.test('Huffman codes and their padding', async (t) => {
  const decode = (hex: string): string | undefined => decodeHuffman(bytesOf(hex), 0, bytesOf(hex).length)
  t.equal(decode(''), '')
  t.equal(decode('1f'), 'a')
  t.equal(decode('18ff'), 'aa')
  t.equal(decode('18fe'), undefined, 'padding is ones')
  t.equal(decode('1fff'), undefined, 'eleven bits of padding')
})

t.test('other decoders read what is encoded here', async (t) => {
  const long = 'x'.repeat(20_000)
  const encoded = encodeHead(
    201,
    {
      'content-type': 'application/json',
      'Audit-ID': 'a-b',
      'set-cookie': ['a=b', long],
      vary: undefined,
      connection: 'close',
    },
    { date: 'Mon, 21 Oct 2013 20:13:21 GMT', prefix: 0x20 },
  )
  t.same(fieldsOf(new HeaderDecoder(), Buffer.from(encoded)), [
    ':status: 201',
    'content-type: application/json',
    'audit-id: a-b',
    'set-cookie: a=b',
    `set-cookie: ${long}`,
    'date: Mon, 21 Oct 2013 20:13:21 GMT',
  ])
  const again = encodeHead(200, { 'content-type': 'application/json', date: 'never' }, { date: 'now' })
  t.same(fieldsOf(new HeaderDecoder(), again), [':status: 200', 'content-type: application/json', 'date: never'])
})

t.test('what a table remembers does not keep its blocks in memory', async (t) => {
  const long = `\x00\x01b\x7f\x80\x40${'x'.repeat(127 + 0x40 * 128)}`
  const blockOf = (value: string): Buffer => Buffer.from(`\x40\x01a\x14${value.padStart(20, '-')}${long}`, 'latin1')
  await collectGarbage()
  const before = process.memoryUsage().heapUsed
  const decoders = Array.from({ length: 10 }, () => new HeaderDecoder())
  for (const decoder of decoders) for (let i = 0; i < 200; i++) decoder.decode(blockOf(`${i}`), () => {})
  await collectGarbage()
  const bytes = (process.memoryUsage().heapUsed - before) / decoders.length
  t.ok(bytes < 100_000, `${bytes} bytes for each table`)
  for (const decoder of decoders) t.same(fieldsOf(decoder, bytesOf('be')), ['a: -----------------199'])
})

class Field {
  readonly name: string
  readonly value = ''

  constructor(name: string) {
    this.name = name
  }
}

t.test('evicted fields leave memory at once', async (t) => {
  const table = new DynamicTable(100)
  for (let i = 10; i < 60; i++) table.add(new Field(`${i}`))
  t.equal(queryObjects(Field, { format: 'count' }), 2)
  t.same([table.get(0)?.name, table.get(1)?.name, table.get(2)], ['59', '58', undefined])
})
