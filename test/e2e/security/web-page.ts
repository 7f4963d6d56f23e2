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
})
