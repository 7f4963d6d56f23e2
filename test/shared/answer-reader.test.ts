import t from 'tap'
import { AnswerReader } from '../../shared/client/answer-reader.ts'

const long = 'ä'.repeat(40_000)
const answers = {
  'with its length': [
    `HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwörd`,
    { status: 200, statusText: 'OK', body: 'wörd' },
  ],
  'without a body': ['HTTP/1.1 204 No Content\r\nDate: now\r\n\r\n', { status: 204, body: '' }],
  'in chunks': [
    `HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n3;x=y\r\n:1}\r\n0\r\nTrailer: t\r\n\r\n`,
    { status: 201, body: '{"a":1}' },
  ],
  'after one of no interest': [
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok',
    { status: 200, body: 'ok' },
  ],
  'that is the last': [
    'HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
    { status: 404, isKept: false },
  ],
  'that is large': [`HTTP/1.1 200 OK\r\ncontent-length: 80000\r\n\r\n${long}`, { body: long }],
} as const

for (const [kind, [text, expected]] of Object.entries(answers)) {
  t.test(`an answer ${kind}, wherever it is cut`, async (t) => {
    const bytes = Buffer.from(text)
    const places = [0, 1, 3, 17, bytes.length - 3, ...Array.from({ length: Math.min(bytes.length, 150) }, (_, i) => i)]
    for (const cut of places) {
      const reader = new AnswerReader()
      const first = reader.push(bytes.subarray(0, cut))
      const answer = first ?? reader.push(bytes.subarray(cut))
      t.match(answer, { isKept: true, ...expected }, `cut at ${cut}`)
    }
    const reader = new AnswerReader()
    let answer: unknown
    for (const byte of bytes.subarray(0, 400)) answer ??= reader.push(Buffer.of(byte))
    answer ??= reader.push(bytes.subarray(400))
    t.match(answer, expected, 'byte by byte')
  })
}

t.test('an answer that ends with its connection, and one that does not', async (t) => {
  const open = new AnswerReader()
  t.equal(open.push(Buffer.from('HTTP/1.1 200 OK\r\n\r\nall of it')), undefined)
  t.match(open.end(), { body: 'all of it', isKept: false })

  const torn = new AnswerReader()
  t.equal(torn.hasBegun, false)
  torn.push(Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'))
  t.equal(torn.hasBegun, true)
  t.equal(torn.end(), undefined)
})

t.test('the unwanted body of a success is counted and not kept; a failure says why', async (t) => {
  const read = (text: string, cut: number) => {
    const reader = new AnswerReader(true)
    return reader.push(Buffer.from(text.slice(0, cut))) ?? reader.push(Buffer.from(text.slice(cut)))
  }
  const success = 'HTTP/1.1 201 Created\r\ncontent-length: 5\r\n\r\nworld'
  const failure = 'HTTP/1.1 409 Conflict\r\ncontent-length: 5\r\n\r\nwhose'
  for (const cut of [success.length - 2, success.length]) {
    t.match(read(success, cut), { status: 201, body: '', isKept: true })
    t.match(read(failure, cut + 1), { status: 409, body: 'whose' })
  }
  const chunks = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'
  t.match(read(chunks, chunks.length), { status: 200, body: '', isKept: true })
})

t.test('what is no HTTP', async (t) => {
  t.throws(() => new AnswerReader().push(Buffer.from('SSH-2.0-OpenSSH\r\n\r\n')), { message: /does not speak HTTP/ })
  const reader = new AnswerReader()
  reader.push(Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'))
  t.throws(() => reader.push(Buffer.from('size?\r\n')), { message: /chunk without its size/ })
})

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`
const hostile = {
  'a head without end': [`${ok}A: `, 'a', /head .* larger than 64 KiB/],
  'heads without end': ['', 'HTTP/1.1 100 Continue\r\n\r\n', /head .* larger than 64 KiB/],
  'fields without end': [ok, 'a: b\r\n', /head .* larger than 64 KiB/],
  'an extension without end': [`${chunked}5;`, 'x', /line between chunks/],
  'trailers without end': [`${chunked}0\r\n`, 'a: b\r\n', /head .* larger than 64 KiB/],
  'a body without end': [`${ok}\r\n`, 'x'.repeat(1000), /answer is larger than 64 MiB/],
} as const

for (const [what, [start, repeated, message]] of Object.entries(hostile)) {
  t.test(`${what}: an error, and no more memory than is named there`, async (t) => {
    const reader = new AnswerReader()
    reader.push(Buffer.from(start))
    const piece = Buffer.from(repeated.repeat(Math.ceil(60_000 / repeated.length)))
    const before = process.memoryUsage()
    const usedBefore = before.heapUsed + before.arrayBuffers
    t.throws(
      () => {
        for (let sent = 0; sent < 80 * 1024 * 1024; sent += piece.length) reader.push(piece)
      },
      { message },
    )
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    t.ok(heapUsed + arrayBuffers - usedBefore < 300 * 1024 * 1024, 'memory')
  })
}

t.test('chunks of one byte take as much memory as their bytes', async (t) => {
  const reader = new AnswerReader()
  const piece = Buffer.from(`${chunked}${'1\r\nx\r\n'.repeat(500_000)}`)
  const before = process.memoryUsage()
  reader.push(piece)
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  t.ok(heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers < 60 * 1024 * 1024, 'memory')
  t.equal(reader.push(Buffer.from('0\r\n\r\n'))?.body.length, 500_000)
})

t.test('a head byte by byte costs what a head costs', async (t) => {
  const reader = new AnswerReader()
  const bytes = Buffer.from(`${ok}A: ${'a'.repeat(60_000)}\r\nContent-Length: 0\r\n\r\n`)
  const before = process.cpuUsage()
  let answer: unknown
  for (const byte of bytes) answer ??= reader.push(Buffer.of(byte))
  t.match(answer, { status: 200 })
  t.ok(process.cpuUsage(before).user < 1_000_000, 'CPU time')
})

for (const [head, message] of [
  ['Content-Length: -1', /invalid length: -1/],
  ['Content-Length: 1e9', /invalid length: 1e9/],
  ['Content-Length: 5\r\nContent-Length: 6', /two different lengths/],
  ['Content-Length: 99999999999', /answer is larger than 64 MiB/],
  ['Transfer-Encoding: gzip, chunked', /unknown transfer encoding: gzip, chunked/],
  ['no field', /header without a name: no field/],
  ['Transfer-Encoding: chunked\r\n\r\n-5\r\n', /chunk without its size/],
  ['Transfer-Encoding: chunked\r\n\r\n0x5\r\n', /chunk without its size/],
  ['Transfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n', /longer than its size/],
] as const)
  t.test(`${JSON.stringify(head)} is no answer`, async (t) => {
    t.throws(() => new AnswerReader().push(Buffer.from(`${ok}${head}\r\n\r\n`)), { message })
  })

t.test('what comes after an answer is not the next one', async (t) => {
  for (const first of [`${ok}Content-Length: 2\r\n\r\nok`, `${chunked}2\r\nok\r\n0\r\n\r\n`]) {
    const answer = new AnswerReader().push(Buffer.from(`${first}HTTP/1.1 200 OK\r\n`))
    t.match(answer, { body: 'ok', isKept: false })
  }
  t.throws(() => new AnswerReader().push(Buffer.from('HTTP/1.1 101 Switching Protocols\r\n\r\n')), {
    message: /not asked for/,
  })
})
