import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type RecordLine, recordFormat, recordVersion } from '../../../shared/record/format.ts'
import { readRecord } from '../../../shared/record/reader.ts'
import { RecordWriter } from '../../../shared/record/writer.ts'

const header = { type: 'HEADER', format: recordFormat, version: recordVersion, at: '', writer: '', title: 'x' } as const
const mark = { type: 'MARK', at: '2026-05-17T10:00:00Z', text: 'é', level: 'note' } as const
const text = (...lines: unknown[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('')

async function* inChunks(content: string | Buffer, size = 7): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(content)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(content: string, maxLineBytes?: number): Promise<RecordLine[]> {
  const lines: RecordLine[] = []
  for await (const line of readRecord(inChunks(content), { name: 'a.record', maxLineBytes })) lines.push(line)
  return lines
}

t.test('what is read', async (t) => {
  t.same(await read(text(header, mark)), [header, mark])
  t.same(await read(`${text(header, mark)}{"type":"MA`), [header, mark], 'a last line that was cut off is left out')
  t.same(await read(text(header, { type: 'LATER' })), [header, { type: 'LATER' }], 'types of the future are given')
  t.same(await read(`${text(header)}\n[1]\n"x"\nnull\n{}\n${text(mark)}`), [header, mark], 'other lines are left out')
  t.same(await read(text(header, { ...mark, text: 'x'.repeat(5000) }, mark), 1000), [header, mark], 'a line too long')
})

t.test('what is refused', async (t) => {
  const refused: [string, RegExp][] = [
    ['', /^a\.record is not a valid record: it has no complete line$/],
    [JSON.stringify(header), /no complete line$/],
    ['apiVersion: v1\n', /^a\.record is not a record of Kubestage/],
    [text(mark), /^a\.record is not a record of Kubestage/],
    [text({ ...header, version: 7 }), /is a record of version 7, and this Kubestage reads version 1: use/],
    [text({ ...header, version: undefined }), /version undefined/],
    [`${'x'.repeat(3000)}\n`, /not a record of Kubestage/],
  ]
  for (const [content, message] of refused) await t.rejects(read(content, 1000), { name: 'RecordError', message })
})

t.test('large records take no memory', async (t) => {
  const block = Buffer.from(text({ ...mark, text: 'x'.repeat(1000) }).repeat(1000))
  async function* large(): AsyncGenerator<Buffer> {
    yield Buffer.from(text(header))
    for (let n = 0; n < 200; n++) yield block
    yield Buffer.alloc(64 * 1024 * 1024, 'x')
  }
  const before = process.memoryUsage().rss
  let count = 0
  for await (const _ of readRecord(large())) count++
  t.equal(count, 200_001)
  const grownMB = (process.memoryUsage().rss - before) / 2 ** 20
  t.ok(grownMB < 200, `200 MB were read with ${Math.round(grownMB)} MB`)
})

t.test('a writer appends', async (t) => {
  const file = join(t.testdir(), 'a.record')
  const first = RecordWriter.create(file)
  first.line(header)
  first.line(mark)
  first.close()
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.throws(() => RecordWriter.create(file), { code: 'EEXIST' })
  writeFileSync(file, '{"type":"MA', { flag: 'a' })
  const second = await RecordWriter.append(file)
  second.line(mark)
  second.close()
  t.equal(readFileSync(file, 'utf8'), text(header, mark, mark))
  const other = join(t.testdir({ other: 'kind: Pod\n' }), 'other')
  await t.rejects(RecordWriter.append(other), { name: 'RecordError' })
  t.equal(readFileSync(other, 'utf8'), 'kind: Pod\n')
})
