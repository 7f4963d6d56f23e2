/** A page in a browser of the administrator. */
import { type Attempts, refused, type Setting } from './attempts.ts'
import { core } from './stage.ts'

const evil = { origin: 'https://evil.example' }

export const webPageAttempts = ({ stage: { admin }, ask }: Setting): Attempts => ({
  'read an answer, where its origin is not allowed': async (t) => {
    for (const method of ['GET', 'OPTIONS', 'POST']) {
      const headers = {
        ...evil,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
      }
      const answer = await admin.ask({ method, path: `${core}/secrets`, headers })
      const names = Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))
      t.same(names, [], method)
    }
  },
  'be let in by what the browser holds': async (t) => {
    for (const path of ['/', '/version', '/api', `${core}/pods`, '/healthz']) {
      const { headers } = await admin.ask({ path })
      t.equal(headers['set-cookie'], undefined, `${path}: no cookie`)
      const anonymousAnswer = await ask['anonymous client'].ask({ path })
      t.notMatch(
        String(anonymousAnswer.headers['www-authenticate'] ?? ''),
        /basic|negotiate|digest/i,
        `${path}: no log-in`,
      )
    }
    const rebound = { host: 'evil.example', ...evil, cookie: 'a=b' }
    await refused([
      { path: `${core}/secrets`, headers: rebound },
      {
        path: `${core}/pods?watch=true`,
        headers: {
          ...rebound,
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        },
      },
    ])(t, ask['anonymous client'])
  },
  'use the page of kubestage ui, or its session': async (t) => {
    const ui = '/kubestage/ui/'
    const stranger = ask['anonymous client']
    const link = await admin.ask({ method: 'POST', path: '/kubestage/v1/ui-links' })
    const { path } = JSON.parse(link.body) as { path: string }
    t.equal(await stranger.status({ path, headers: { host: 'evil.example' } }), 403, 'by a name of its own')
    t.equal(await stranger.status({ path, headers: evil }), 403, 'from its origin')
    const { headers, status } = await stranger.ask({ path })
    t.equal(status, 303)
    t.match(String(headers['set-cookie']), /; Path=\/kubestage\/ui; HttpOnly; SameSite=Strict; Secure$/)
    t.equal(await stranger.status({ path }), 401, 'by a link that was used')
    const cookie = String(headers['set-cookie']).split(';')[0]!
    t.equal(await stranger.status({ path: ui, headers: { cookie } }), 200)
    for (const asked of [ui, `${ui}log`, `${ui}stream`]) {
      t.equal(await stranger.status({ path: asked }), 401, `${asked} without the session`)
      t.equal(await stranger.status({ path: asked, headers: { cookie, ...evil } }), 403, `${asked} from its origin`)
      const rebound = { cookie, host: 'evil.example' }
      t.equal(await stranger.status({ path: asked, headers: rebound }), 403, `${asked} by a name of its own`)
    }
    const { headers: ofPage } = await stranger.ask({ path: ui, headers: { cookie } })
    t.match(String(ofPage['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/, 'in a frame')
    await refused([
      { path: `${core}/secrets`, headers: { cookie } },
      { path: '/kubestage/v1/record?watch=true', headers: { cookie } },
      { method: 'POST', path: '/kubestage/v1/ui-links', headers: { cookie } },
    ])(t, stranger)
  },
  'act by the page of kubestage ui': async (t) => {
    const stranger = ask['anonymous client']
    const session = async (body: object): Promise<string> => {
      const link = await admin.ask({ method: 'POST', path: '/kubestage/v1/ui-links', body })
      const { headers } = await stranger.ask({ path: (JSON.parse(link.body) as { path: string }).path })
      return String(headers['set-cookie']).split(';')[0]!
    }
    const [reading, acting] = [await session({}), await session({ actions: true })]
    const act = (headers: Record<string, string>, contentType?: string) => {
      const body = { action: 'delete', namespace: 'default', name: 'web' }
      return stranger.status({ method: 'POST', path: '/kubestage/ui/actions', headers, body, contentType })
    }
    t.equal(await act({}), 401, 'without a session')
    t.equal(await act({ cookie: reading }), 403, 'by a page that may only read')
    t.equal(await act({ cookie: acting }), 400, 'without an Origin')
    t.equal(await act({ cookie: acting, ...evil }), 403, 'from another origin')
    t.equal(await act({ cookie: acting, host: 'evil.example', ...evil }), 403, 'by a name of its own')
    t.equal(await act({ cookie: acting }, 'text/plain'), 400, 'by a form')
    t.equal(await admin.status({ path: `${core}/pods/web` }), 200, 'the pod is still there')
  },
})
