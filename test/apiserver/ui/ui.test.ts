import t from 'tap'
import { isLoopback, refusal } from '../../../apiserver/ui/guard.ts'
import { Sessions } from '../../../apiserver/ui/sessions.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { startTestApiServer } from '../../harness/api-server.ts'
import { httpsExchange } from '../../harness/https-exchange.ts'

t.test('who may come in', (t) => {
  const refused = (host?: string, origin?: string) => refusal({ host, origin }, isLoopback) !== undefined
  for (const host of ['localhost', '127.0.0.1:6443', '[::1]:6443']) t.notOk(refused(host), host)
  for (const host of [undefined, '', 'evil.example', '127.0.0.1.evil.example', 'a@localhost', 'localhost/x', 'x y'])
    t.ok(refused(host), String(host))
  t.notOk(refused('localhost:1', 'http://localhost:1'))
  for (const origin of ['http://localhost:2', 'https://evil.example', 'null', '']) t.ok(refused('localhost:1', origin))
  t.end()
})

t.test('links and sessions end', async (t) => {
  const clock = createVirtualClock()
  const sessions = new Sessions(clock)
  const late = sessions.link()
  const used = sessions.link()
  const redeemed = sessions.redeem(used)
  t.ok('session' in redeemed && sessions.get(redeemed.session))
  t.same(sessions.redeem(used), { refused: 'used' })
  t.same(sessions.redeem('x'), { refused: 'unknown' })
  await clock.advance(2 * 60_000 + 1)
  t.same(sessions.redeem(late), { refused: 'expired' })
  await clock.advance(12 * 3_600_000)
  t.notOk('session' in redeemed && sessions.get(redeemed.session))
  const first = sessions.link()
  for (let n = 0; n < 64; n++) sessions.link()
  t.same(sessions.redeem(first), { refused: 'unknown' }, 'the oldest are forgotten')
})

t.test('the page of an API server', async (t) => {
  const server = await startTestApiServer(t)
  const ui = '/kubestage/ui/'
  const html = { accept: 'text/html' }
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    server.send(path, { anonymous: true, headers, method })
  t.match(await ask('/kubestage/v1/ui-links', {}, 'POST'), { status: 403 }, 'links are for administrators')
  const link = async () => {
    const answer = await server.send('/kubestage/v1/ui-links', { method: 'POST' })
    t.match(answer, { status: 200, body: { expiresInSeconds: 120 } })
    return (answer.body as { path: string }).path
  }
  const path = await link()
  const rebound = await httpsExchange({
    ...{ ca: server.tls.ca, host: '127.0.0.1', port: server.port, path, servername: 'localhost' },
    headers: { host: 'evil.example' },
  })
  t.equal(rebound.status, 403)
  t.match(String(rebound.bytes), /not served under this name/)
  const login = await ask(path)
  t.match(login, { status: 303, headers: { location: ui } })
  const [setCookie] = login.headers['set-cookie'] as string[]
  t.match(setCookie, /^kubestage-ui-\w+=[\w-]{43}; Path=\/kubestage\/ui; HttpOnly; SameSite=Strict; Secure$/)
  const cookie = setCookie!.split(';')[0]!

  await t.test('is there for its session', async (t) => {
    const page = await ask(ui, { cookie })
    t.match(page, { status: 200, headers: { 'content-type': /^text\/html/ }, body: /<div id="page">/ })
    t.notMatch(page.body, /<script[^>]* src=|<link rel="stylesheet"/, 'no second request can leave it empty')
    t.match(
      String(page.headers['content-security-policy']),
      /^default-src 'none'; .*form-action 'none'; script-src 'sha256-\S+'; style-src 'sha256-\S+'; connect-src 'self'/,
    )
    t.match(page.headers, { 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' })
    t.match(await ask(`${ui}..%2fmain.ts`, { cookie }), { status: 404 })
    t.match(await ask('/kubestage/ui', { cookie }), { status: /200|303/ })
  })

  await t.test('says why it is not there', async (t) => {
    t.match(await ask(path, html), { status: 401, body: /<p>The link was used already\. Run kubestage ui for a new/ })
    t.match(await ask(`${ui}login?once=x`), { status: 401, body: { message: /does not know this link/ } })
    t.match(await ask(ui), { status: 401, body: { message: /needs a session/ } })
    const old = { cookie: `kubestage-ui-old=x; ${cookie}x` }
    t.match(await ask(`${ui}stream`, old), { status: 401, body: { message: /the server has started again/ } })
    t.match(await ask(ui, { cookie, origin: 'https://evil.example' }), { status: 403 })
    t.match(await ask(ui, { cookie }, 'POST'), { status: /403|404|405/ })
    t.match(await ask('/kubestage/v1/journal', { cookie }), { status: 403 }, 'a session is for the page alone')
    t.match(await ask('/api/v1/namespaces', { cookie }), { status: 403 })
  })

  await t.test('reads logs as the user of its link, and nothing else', async (t) => {
    const log = (query: string, headers: Record<string, string> = { cookie }) => ask(`${ui}log?${query}`, headers)
    t.match(await log('namespace=default&pod=p', {}), { status: 401 })
    t.match(await log('namespace=default&pod=none'), { status: 404, body: { message: 'pods "none" not found' } })
    t.match(await log('pod=p'), { status: 400, body: { message: 'namespace must be given' } })
    t.match(await log('namespace=default&pod=..'), { status: 400, body: { message: 'pod must be given' } })
    const elsewhere = encodeURIComponent('x/../../../secrets?')
    t.match(await log(`namespace=default&pod=${elsewhere}`), { status: 404 }, 'a name is one segment')
    t.match(await ask(`${ui}log?namespace=default&pod=p`, { cookie, origin: 'https://evil.example' }), { status: 403 })
  })

  await t.test('may act where its link says so, for its user', async (t) => {
    const origin = `https://127.0.0.1:${server.port}`
    const act = (body: object | string, headers: Record<string, string>) =>
      server.send(`${ui}actions`, {
        ...{ anonymous: true, method: 'POST', body },
        headers: { 'content-type': 'application/json', host: `127.0.0.1:${server.port}`, origin, ...headers },
      })
    const cordon = { action: 'cordon', name: 'n' }
    t.match(await act(cordon, { cookie }), {
      status: 403,
      body: { message: /may only read.*kubestage ui --ui-actions/ },
    })
    t.match(await act(cordon, {}), { status: 401 })
    const opened = await server.send('/kubestage/v1/ui-links', { method: 'POST', body: { actions: true } })
    const acting = await ask((opened.body as { path: string }).path)
    const may = { cookie: String(acting.headers['set-cookie']).split(';')[0]! }
    t.match(await act(cordon, { ...may, origin: 'https://evil.example' }), { status: 403 })
    t.match(await act(cordon, { ...may, 'content-type': 'text/plain' }), { status: 400, body: { message: /json/ } })
    t.match(await act('{', may), { status: 400, body: { message: /not valid JSON/ } })
    t.match(await act({ action: 'constructor' }, may), { status: 400, body: { message: /must be one of cordon/ } })
    t.match(await act({ action: 'cordon', name: '..' }, may), { status: 400, body: { message: 'name must be given' } })
    t.match(await act({ action: 'delete', name: 'x' }, may), { status: 400, body: { message: /namespace must/ } })
    t.match(await act({ ...cordon, reason: 'x'.repeat(5000) }, may), { status: 413 })
    t.match(await act(cordon, may), { status: 404, body: { message: 'nodes "n" not found' } })
    await server.send('/api/v1/nodes', { method: 'POST', body: { metadata: { name: 'n' } } })
    t.match(await act(cordon, may), { status: 200, body: { message: 'n gets no more pods' } })
    t.match(await server.send('/api/v1/nodes/n'), { body: { spec: { unschedulable: true } } })
    t.match(await act({ ...cordon, action: 'uncordon' }, may), { status: 200 })
    t.notHas((await server.send('/api/v1/nodes/n')).body, { spec: { unschedulable: true } })
    const pods = '/api/v1/namespaces/default/pods'
    const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'x' }] }
    await server.send(pods, { method: 'POST', body: { metadata: { name: 'p' }, spec } })
    const remove = { action: 'delete', namespace: 'default', name: 'p', reason: 'Update' }
    t.match(await act(remove, may), { status: 200, body: { message: 'default/p is being deleted' } })
    const { metadata } = (await server.send(`${pods}/p`)).body as { metadata: object }
    t.match(JSON.stringify(metadata), /deletionTimestamp/)
  })
})
