import t from 'tap'
import { canonicalMicroTime, canonicalTime } from '../../shared/clock/go-time.ts'

t.test('times are read as leniently, and as strictly, as Go reads RFC 3339', async (t) => {
  const read: [string, string][] = [
    ['2030-01-02T03:04:05Z', '2030-01-02T03:04:05Z'],
    ['2030-01-02T3:04:05Z', '2030-01-02T03:04:05Z'],
    ['2030-01-02T03:04:05.25Z', '2030-01-02T03:04:05Z'],
    ['2030-01-02T03:04:05,25Z', '2030-01-02T03:04:05Z'],
    ['2030-01-02T03:04:05+02:00', '2030-01-02T01:04:05Z'],
  ]
  for (const [text, canonical] of read) t.equal(canonicalTime(text), canonical, text)
  t.equal(canonicalMicroTime('2030-01-02T3:04:05,123456Z'), '2030-01-02T03:04:05.123456Z')
  const refused = [
    '2030-01-02',
    '2030-01-02T03:04Z',
    '2030-01-02T03:4:05Z',
    '2030-01-02t03:04:05Z',
    '2030-01-02T03:04:05',
  ]
  for (const text of [...refused, '2030-01-02T03:04:05z', '2030-02-30T03:04:05Z', '2030-01-02T24:00:00Z', ' 2030'])
    t.throws(() => canonicalTime(text), { message: /^parsing time / }, text)
})
