import t from 'tap'
import { decode, encode } from '../../../apiserver/storage/etcd/codec.ts'
import type { Message } from '../../../apiserver/storage/etcd/messages.ts'

const event = (value: string): Message<'Event'> => ({
  type: 0,
  kv: { key: '/registry/pods/default/web', mod_revision: 7, version: 1, value, lease: '0' },
})

t.test('messages in messages are read as they were written, at each length of a length', async (t) => {
  for (const size of [0, 1, 126, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152]) {
    const events = [event('x'.repeat(size)), event('é'.repeat(Math.ceil(size / 2)))]
    const { events: read } = decode('WatchResponse', encode('WatchResponse', { watch_id: 1, events }))
    if (JSON.stringify(read) !== JSON.stringify(events)) t.fail(`${size} bytes`)
  }
})

t.test('a short message is whole wherever the room for its field ends', async (t) => {
  for (let size = 0; size < 600; size++) {
    const events = [event('x'.repeat(size)), { type: 1, kv: { ...event('').kv!, key: 'k' } }, event('')]
    const { events: read } = decode('WatchResponse', encode('WatchResponse', { events }))
    if (JSON.stringify(read) !== JSON.stringify(events)) t.fail(`${size} bytes`)
  }
  for (let count = 0; count < 200; count++) {
    const success = Array.from({ length: count }, () => ({ request_put: { key: 'k' } }))
    const { success: read } = decode('TxnRequest', encode('TxnRequest', { success }))
    t.equal(read.filter(({ request_put }) => request_put?.key === 'k').length, count)
  }
})

t.test('bytes on the wire are those of the protocol', async (t) => {
  const put = { key: 'k', value: 'v'.repeat(130), lease: '-1' }
  const bytes = encode('TxnRequest', { success: [{ request_put: put }] })
  // success: 150 bytes; request_put: 147; key: 1; value: 130
  t.equal(bytes.subarray(0, 13).toString('hex'), '1296011293010a016b12820176')
  t.equal(bytes.subarray(-11).toString('hex'), '18ffffffffffffffffff01', 'a negative number has ten bytes')
})

t.test('numbers are exact up to 2⁵³ − 1, and negative ones as Go has them', async (t) => {
  for (const revision of [0, 127, 128, 2 ** 31, 2 ** 49 - 1, 2 ** 49, Number.MAX_SAFE_INTEGER, -1, -(2 ** 40)]) {
    const { header } = decode('WatchResponse', encode('WatchResponse', { header: { revision } }))
    t.equal(header?.revision, revision)
  }
})
