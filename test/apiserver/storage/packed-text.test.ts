import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { isShared, lengthOf, PackedText } from '../../../apiserver/storage/packed-text.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const fields = `"fieldsV1":{"f:spec":{${Array.from({ length: 100 }, (_, i) => `"f:field-${i}":{}`).join(',')}}}`
const entry = (manager: string, second: number): string =>
  `{"manager":"${manager}","time":"2026-11-21T00:00:${second % 60}Z","fieldsType":"FieldsV1",${fields}}`
const pod = (i: number): string =>
  `{"metadata":{"name":"pod-${i}","uid":"${i * 7919}","managedFields":[${entry('one', i)},${entry('two', i + 1)}]},` +
  `"spec":{"containers":[{"name":"main","args":["${'x'.repeat(2_000)}"]}]},"status":{"phase":"Pending"}}`

t.test('a text is whole again, whatever it is', async (t) => {
  const pieces = [',"managedFields":[', ',"fieldsType":', '},"spec":', ',"status":', 'é', '"', fields, 'x'.repeat(250)]
  const texts = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string()), { maxLength: 30 })
  const isWhole = (parts: string[]): boolean => {
    const packed = new PackedText(parts.join(''))
    return (
      packed.toString() === parts.join('') && lengthOf({ value: '', parts: packed.parts }) === parts.join('').length
    )
  }
  fc.assert(fc.property(texts, isWhole))
  const large = JSON.stringify({ metadata: { name: 'x' }, spec: 'y'.repeat(1_000_000), status: {} })
  t.equal(new PackedText(large).toString(), large)
})

t.test('what many have in common is held once', async (t) => {
  const count = 2_000
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const packed = Array.from({ length: count }, (_, i) => new PackedText(pod(i)))
  collectGarbage()
  const bytes = process.memoryUsage().heapUsed - before
  t.ok(bytes < (count * pod(0).length) / 4, `${bytes} bytes for ${count} texts of ${pod(0).length}`)
  t.ok(packed.every((text, i) => text.toString() === pod(i)))
})

t.test('parts of equal length are held once each, however many there are', async (t) => {
  const onNode = (i: number): PackedText =>
    new PackedText(`{"metadata":{"name":"pod-${i}"},"spec":{"args":["${'x'.repeat(500)}"],"nodeName":"n-${i % 100}"}}`)
  const partsOf = () => Array.from({ length: 100 }, (_, i) => onNode(100 + i).parts[1])
  const parts = partsOf()
  t.equal(new Set(parts).size, 100)
  t.ok(
    parts.every((part) => part && isShared(part)),
    'none has pushed another one out',
  )
})

t.test('texts that have nothing in common are forgotten again', async (t) => {
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < 20_000; i++)
    new PackedText(`{"metadata":{"name":"x"},"spec":{"data":"${String(i).repeat(800)}"}}`)
  collectGarbage()
  const bytes = process.memoryUsage().heapUsed - before
  t.ok(bytes < 6_000_000, `${bytes} bytes are kept`)
})
