import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import t from 'tap'
import type { ContainerStatus, Pod } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { until } from '../../harness/until.ts'
import { type Answer, apiServer, client, otherCa, startNode } from './start-node.ts'

const line = (second: number, text: string, tag = 'F') =>
  `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000000Z stdout ${tag} ${text}\n`

t.test('authentication and authorization', async (t) => {
  const { get } = await startNode(t)
  t.same(await get('/healthz'), { code: 200, text: 'ok' })
  t.same(await get('/healthz', {}), { code: 401, text: 'Unauthorized' })
  t.match(await get('/healthz', client('kubernetes-admin', 'system:masters', otherCa)), { code: 401 })
  t.same(await get('/pods', client('somebody', 'people')), {
    code: 403,
    text: 'Forbidden (user=somebody, verb=get, resource=nodes, subresource(s)=[pods proxy])',
  })
  t.match(await get('/nope'), { code: 404 })
  t.match(await get('/%zz'), { code: 400 })
  t.match(await get('//'), { code: 404 })
  t.match(await get('/pods', apiServer, 'POST'), { code: 405 })
  const { kind, items } = JSON.parse((await get('/pods')).text) as { kind: string; items: Pod[] }
  t.equal(kind, 'PodList')
  t.same(
    items.map(({ metadata }) => metadata.name),
    ['web'],
  )
})

t.test('what runs', async (t) => {
  const { get, runtime, id } = await startNode(t)
  const names = async () => {
    const { items } = JSON.parse((await get('/runningpods/')).text) as { items: Pod[] }
    return items.map(({ metadata, spec }) => [metadata.name, ...spec.containers.map(({ name }) => name)])
  }
  t.same(await names(), [['web', 'c']])
  await runtime.stopContainer(id, { signal: 'TERM', gracePeriodMs: 1000 })
  t.same(await names(), [])
})

t.test('logs: the last lines, since when, how much, with their times, and parts put together', async (t) => {
  const { logs, logPath } = await startNode(t)
  const content = [line(1, 'one'), line(2, 'tw', 'P'), line(3, 'o'), line(4, ''), 'not a line\n', line(5, 'Größe')]
  writeFileSync(logPath, content.join(''))
  t.equal(await logs(''), 'one\ntwo\n\nGröße\n')
  t.equal(await logs('tailLines=1'), 'Größe\n')
  t.equal(await logs('tailLines=0'), '')
  t.equal(await logs('tailLines=1000'), 'one\ntwo\n\nGröße\n')
  t.equal(await logs('tail=all'), 'one\ntwo\n\nGröße\n')
  t.equal(await logs('sinceTime=2026-01-01T00:00:04Z'), '\nGröße\n')
  t.equal(await logs('sinceSeconds=1'), '')
  t.equal(await logs('limitBytes=5'), 'one\nt')
  t.equal(
    await logs('timestamps=true&tailLines=5'),
    '2026-01-01T00:00:02.000000000Z two\n2026-01-01T00:00:04.000000000Z \n2026-01-01T00:00:05.000000000Z Größe\n',
    'a line has one time, whatever its parts; the tail counts the file’s lines',
  )
  writeFileSync(logPath, line(1, 'one') + line(2, 'last', 'P'))
  t.equal(await logs(''), 'one\nlast', 'no newline is added')
  const many = Array.from({ length: 30_000 }, (_, i) => line(i % 60, `line ${i}`))
  writeFileSync(logPath, many.join(''))
  const all = (await logs('')).trimEnd().split('\n')
  t.equal(all.length, 30_000)
  t.same((await logs('tailLines=12345')).trimEnd().split('\n'), all.slice(-12345))
})

t.test('a log that is not followed ends where it ended when it was asked for', async (t) => {
  const { logs, logPath } = await startNode(t)
  writeFileSync(logPath, line(0, 'first'))
  // 64 MB, as fast as a program can write.
  const script = `yes "$0" | head -c 67108864 >>"$1"`
  const busy = spawn('sh', ['-c', script, line(1, 'more').trimEnd(), logPath], { stdio: 'ignore' })
  const ended = once(busy, 'exit')
  await until(() => statSync(logPath).size > 1_000_000, { what: 'the container to write' })
  t.equal(await logs('tailLines=3'), 'more\n'.repeat(3))
  await ended
})

t.test('following a log: until the container ends, past a rotation, and everything to the last line', async (t) => {
  const { runtime, id, logPath, open } = await startNode(t)
  writeFileSync(logPath, line(1, 'first'))
  const response = await open('/containerLogs/ns/web/c?follow=true')
  let text = ''
  const ended = (async () => {
    for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString()
  })()
  await until(() => text === 'first\n', { what: 'what was there' })
  appendFileSync(logPath, line(2, 'second'))
  await until(() => text.endsWith('second\n'), { what: 'what is written' })
  renameSync(logPath, `${logPath}.1`)
  writeFileSync(logPath, line(3, 'third'))
  await until(() => text.endsWith('third\n'), { what: 'what is written into the next file' })
  appendFileSync(logPath, line(4, 'fourth'))
  await until(() => text.endsWith('fourth\n'), { what: 'what is added to it', timeoutMs: 5_000 })
  appendFileSync(logPath, line(5, 'fifth'))
  await runtime.stopContainer(id, { signal: 'TERM', gracePeriodMs: 1000 })
  await ended
  t.equal(text, 'first\nsecond\nthird\nfourth\nfifth\n')

  const after = await open('/containerLogs/ns/web/c?follow=true&tailLines=1')
  let rest = ''
  for await (const chunk of after as AsyncIterable<Buffer>) rest += chunk.toString()
  t.equal(rest, 'fifth\n', 'the log of what has ended ends')
})

t.test('a follower that goes away is forgotten', async (t) => {
  const { runtime, id, open, logPath } = await startNode(t)
  let listeners = 0
  const { onEvent } = runtime
  runtime.onEvent = (listener) => {
    listeners++
    const forget = onEvent.call(runtime, listener)
    return () => {
      listeners--
      forget()
    }
  }
  const response = await open('/containerLogs/ns/web/c?follow=true')
  appendFileSync(logPath, line(1, 'x'))
  await new Promise((resolve) => response.once('data', resolve))
  t.equal(listeners, 1)
  response.destroy()
  await until(() => listeners === 0, { what: 'the follower to be forgotten' })
  t.ok((await runtime.list()).containers.some((container) => container.id === id && container.state === 'running'))
})

t.test('what there is no log of', async (t) => {
  const state = (name: string, more: object) => ({ name, ...more }) as unknown as ContainerStatus
  const waiting = (reason: string) => ({ state: { waiting: { reason } } })
  const cases: [string, ContainerStatus[], string, Answer][] = [
    ['unknown pod', [], '/containerLogs/ns/other/c', { code: 404, text: 'pod "other" does not exist' }],
    ['unknown container', [], '/containerLogs/ns/web/x', { code: 404, text: 'container "x" not found in pod "web"' }],
    [
      'no status',
      [],
      '/containerLogs/ns/web/init',
      { code: 400, text: 'container "init" in pod "web" is not available' },
    ],
    [
      'waiting',
      [state('new', waiting('ContainerCreating'))],
      '/containerLogs/ns/web/new',
      { code: 400, text: 'container "new" in pod "web" is waiting to start: ContainerCreating' },
    ],
    [
      'no image',
      [state('new', waiting('ImagePullBackOff'))],
      '/containerLogs/ns/web/new',
      { code: 400, text: 'container "new" in pod "web" is waiting to start: trying and failing to pull image' },
    ],
    [
      'no previous one',
      [state('c', { state: { running: {} } })],
      '/containerLogs/ns/web/c?previous=true',
      { code: 400, text: 'previous terminated container "c" in pod "web" not found' },
    ],
    [
      'terminated and unknown',
      [state('c', { state: { terminated: {} } })],
      '/containerLogs/ns/web/c',
      { code: 400, text: 'container "c" in pod "web" is terminated' },
    ],
    [
      'forgotten by the runtime',
      [state('c', { containerID: 'containerd://gone', state: { running: {} } })],
      '/containerLogs/ns/web/c',
      { code: 400, text: 'unable to retrieve container logs for containerd://gone' },
    ],
  ]
  for (const [what, statuses, url, answer] of cases) {
    await t.test(what, async (t) => t.same(await (await startNode(t, { statuses: () => statuses })).get(url), answer))
  }
  const { get } = await startNode(t)
  const undecodable = { code: 400, text: '{"message": "Unable to decode query."}' }
  const invalid = { code: 422, text: '{"message": "Invalid request."}' }
  for (const query of ['tailLines=x', 'sinceTime=yesterday', 'limitBytes=1.5']) {
    t.same(await get(`/containerLogs/ns/web/c?${query}`), undecodable, query)
  }
  const both = `sinceSeconds=1&sinceTime=${toTime(0)}`
  for (const query of ['tailLines=-1', 'limitBytes=0', 'sinceSeconds=0', both]) {
    t.same(await get(`/containerLogs/ns/web/c?${query}`), invalid, query)
  }
})
