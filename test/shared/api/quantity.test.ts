import fc from 'fast-check'
import t from 'tap'
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityMilliValue,
  quantityValue,
  roundUpToMilli,
} from '../../../shared/api/quantities/quantity.ts'

t.test('texts as a real server writes them back', async (t) => {
  const written: Record<string, string> = {
    '1000m': '1',
    '1024Ki': '1Mi',
    '0.5': '500m',
    '1.5Gi': '1536Mi',
    '1e3': '1e3',
    '1E3': '1E3',
    '+3': '+3',
    '1G': '1G',
    '2.50': '2500m',
    '0.5Mi': '512Ki',
    '100000u': '100m',
    '1024Mi': '1Gi',
    '128974848': '128974848',
    '1023': '1023',
    '0': '0',
    '0.0': '0',
    '0.1n': '1n',
    '-1': '-1',
    '100000000000000000000': '9223372036854775807',
  }
  for (const [text, canonical] of Object.entries(written)) t.equal(canonicalQuantity(text), canonical, text)
})

t.test('what is no quantity', async (t) => {
  const format = /quantities must match the regular expression/
  for (const text of ['', 'abc', '1.2.3', '1 ', '_']) t.throws(() => parseQuantity(text), format, text)
  for (const text of ['1ki', '1KiB', '1mm', '1e', '--1', 'K', 'k1'])
    t.throws(() => parseQuantity(text), /suffix|regular/, text)
})

t.test('a sign, a point or a suffix without a number is 0, as in a real server', async (t) => {
  for (const text of ['.', '-', '+', 'k', '-k', '.k', 'Ki', 'e3'])
    t.equal(formatQuantity(parseQuantity(text)), '0', text)
})

t.test('values are rounded up', async (t) => {
  t.equal(quantityValue('100m'), 1)
  t.equal(quantityMilliValue('0.1m'), 1)
  t.equal(roundUpToMilli('0.1m'), '1m')
  t.equal(roundUpToMilli('+3'), '+3')
  t.equal(addQuantities('500m', '1'), '1500m')
})

t.test('writing and reading again changes nothing', async () => {
  const suffix = fc.constantFrom('', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e2', 'u')
  const text = fc
    .tuple(fc.integer({ min: -999_999, max: 999_999 }), fc.integer({ min: 0, max: 999 }), suffix)
    .map(([whole, fraction, unit]) => `${whole}.${fraction}${unit}`)
  fc.assert(
    fc.property(text, (written) => {
      const quantity = parseQuantity(written)
      const again = formatQuantity(quantity)
      return parseQuantity(again).nano === quantity.nano && formatQuantity(parseQuantity(again)) === again
    }),
  )
  fc.assert(fc.property(text, text, (a, b) => compareQuantities(a, b) === -compareQuantities(b, a)))
})

t.test('a long text that is no quantity is read once', async (t) => {
  const started = process.cpuUsage()
  for (const text of [
    `${'1'.repeat(1_000_000)}!`,
    `${'1'.repeat(500_000)}.${'1'.repeat(500_000)}!`,
    '9'.repeat(1_000_000),
  ])
    try {
      parseQuantity(text)
    } catch (error) {
      t.match(error, { message: /quantities must match the regular expression/ })
    }
  t.ok(process.cpuUsage(started).user < 500_000)
})
