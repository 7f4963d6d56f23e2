import t from 'tap'
import type { RecordedChange, RecordLine } from '../../../shared/record/format.ts'
import { startTestApiServer } from '../../harness/api-server.ts'
import { follow, isOf, isSynced, path, pod, pods } from '../../harness/record.ts'
import { until } from '../../harness/until.ts'

t.test('a record', async (t) => {
  const server = await startTestApiServer(t)
  await server.send(pods, { method: 'POST', body: pod('before') })
  const one = await follow(server, 'watch=true&title=mine')
  await one.has(isSynced)

  await t.test('has the state first, then what happens', async (t) => {
    t.match(one.lines[0], { type: 'HEADER', format: 'kubestage.dev/record', version: 1, title: 'mine' })
    const synced = one.lines.findIndex(isSynced)
    t.ok(one.lines.findIndex(isOf('ADDED', 'before')) < synced)
    await server.send(pods, { method: 'POST', body: pod('later') })
    await server.send(`${pods}/later?gracePeriodSeconds=0`, { method: 'DELETE' })
    await one.has(isOf('DELETED', 'later'))
    const added = one.lines.find(isOf('ADDED', 'later')) as RecordedChange
    t.match(added.object, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { resourceVersion: /^\d+$/, managedFields: [{}] },
    })
    t.match(added.at, /^\d{4}-.*Z$/)
  })

  await t.test('has requests, and each event once', async (t) => {
    await server.send(pods, { method: 'POST', body: pod('later') })
    await one.has((line) => line.type === 'REQUEST' && line.verb === 'create' && line.name === 'later')
    t.match(
      one.lines.find((line) => line.type === 'REQUEST' && line.verb === 'create'),
      { code: 201, user: 'kubernetes-admin', resource: 'pods', durationMs: Number, id: undefined },
    )
    const event = { metadata: { name: 'e' }, involvedObject: { namespace: 'default' }, reason: 'X', type: 'Normal' }
    await server.send('/api/v1/namespaces/default/events', { method: 'POST', body: event })
    await one.has(isOf('ADDED', 'e'))
    await server.send('/api/v1/namespaces/default/configmaps', { method: 'POST', body: { metadata: { name: 'cm' } } })
    await server.send(pods, { method: 'POST', body: pod('last') })
    await one.has(isOf('ADDED', 'last'))
    t.equal(one.lines.filter(isOf('ADDED', 'e')).length, 1)
    t.equal(one.lines.filter(isOf('ADDED', 'cm')).length, 0, 'no ConfigMaps')
  })

  await t.test('has lines that clients add', async (t) => {
    const mark = { type: 'MARK', text: 'the test failed', level: 'failure', other: 1 }
    const load = { type: 'LOAD', at: '2026-05-17T10:00:00Z', seconds: 1, target: 'pod/a', namespace: 'default' }
    const counts = { answered: 5, lost: 1, cut: 0, slowestMs: 3.5 }
    const body = [mark, { ...load, ...counts }].map((line) => JSON.stringify(line)).join('\n')
    t.match(await server.send(path, { method: 'POST', body }), { status: 200, body: { added: 2 } })
    await one.has(({ type }) => type === 'LOAD')
    t.match(
      one.lines.find(({ type }) => type === 'MARK'),
      { at: /Z$/, text: 'the test failed', other: undefined },
    )
    t.match(
      one.lines.find(({ type }) => type === 'LOAD'),
      { ...load, ...counts },
    )
  })

  await t.test('names the pod, the Service and the kinds of lost requests', async (t) => {
    const counts = { answered: 5, lost: 3, cut: 1, slowestMs: 3.5 }
    const load = { type: 'LOAD', at: '2026-05-17T10:00:01Z', seconds: 1, target: 'pod/b', namespace: 'default' }
    const named = { uid: 'u-1', service: 'shop', losses: { refused: 2, '5xx': 1, reset: 1 } }
    const send = (line: object) =>
      server.send(path, { method: 'POST', body: JSON.stringify({ ...load, ...counts, ...line }) })
    t.match(await send(named), { status: 200, body: { added: 1 } })
    const isIt = (line: RecordLine): boolean => line.type === 'LOAD' && line.target === 'pod/b'
    await one.has(isIt)
    t.match(one.lines.find(isIt), named)
    for (const losses of [{ stolen: 1 }, { refused: -1 }, [1], 'refused'])
      t.match(await send({ losses }), {
        status: 422,
        body: { message: /\[0\]\.losses: must be a map of whole numbers/ },
      })
    t.match(await send({ uid: 7 }), { status: 422, body: { message: /\[0\]\.uid: must be a text/ } })
  })

  await t.test('refuses other lines', async (t) => {
    const send = (body: string) => server.send(path, { method: 'POST', body })
    t.match(await send(''), { status: 400, body: { message: /no line/ } })
    t.match(await send('{'), { status: 400, body: { message: /^line 1 is not valid JSON/ } })
    t.match(await send('[]'), { status: 400, body: { message: 'line 1 must be a map of fields' } })
    t.match(await send('{"type":"MARK"}\n'.repeat(1001)), { status: 400, body: { message: /at most 1000/ } })
    t.match(await send('x'.repeat(2 ** 20 + 1)), { status: 413 })
    const wrong = await send(
      '{"type":"ADDED"}\n{"type":"MARK","at":"now","text":"x","level":"note"}\n{"type":"__proto__"}',
    )
    t.match(wrong, { status: 422, body: { reason: 'Invalid', kind: 'Status' } })
    t.match(
      (wrong.body as { details: { causes: { field: string }[] } }).details.causes.map(({ field }) => field),
      ['[0].type', '[1].at', '[2].type'],
    )
    t.match(await server.send(path), { status: 400, body: { message: /\?watch=true/ } })
    t.match(await server.send(`${path}?watch=true`, { anonymous: true }), { status: 403 })
  })

  await t.test('is read by 32 clients at most', async (t) => {
    const others = await Promise.all(Array.from({ length: 31 }, () => follow(server)))
    const refused = await server.send(`${path}?watch=true`)
    t.match(refused, { status: 429, body: { message: /^32 clients read the record already/ } })
    for (const { answer } of others) answer.destroy()
  })

  await t.test('tells a slow reader what is missing', async (t) => {
    const slow = await follow(server)
    await slow.has(isSynced)
    slow.answer.pause()
    const filler = 'x'.repeat(200_000)
    for (let n = 0; n < 90; n++) await server.send(pods, { method: 'POST', body: pod(`large-${n}`, filler) })
    slow.answer.resume()
    await slow.has(({ type }) => type === 'GAP')
    const gap = slow.lines.findIndex(({ type }) => type === 'GAP')
    t.match(slow.lines[gap], { message: 'the reader was 8 MB behind' })
    await until(() => slow.lines.slice(gap).some(isSynced), { what: 'SYNCED after the gap' })
    const after = slow.lines.slice(gap).filter(({ type }) => type === 'ADDED')
    const names = new Set(after.map((line) => (line as RecordedChange).object.metadata.name))
    t.equal([...names].filter((name) => name.startsWith('large-')).length, 90, 'the whole state follows')
    slow.answer.destroy()
    t.equal(one.lines.filter(({ type }) => type === 'GAP').length, 0, 'others go on')
  })

  await t.test('costs nothing when its readers have left', async (t) => {
    t.equal(server.instruments.journal.isOpen, true)
    one.answer.destroy()
    await until(() => !server.instruments.journal.isOpen, { what: 'a closed journal' })
  })
})
