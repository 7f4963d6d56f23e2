/** A client without credentials, and one whose credentials have no role. */
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Attempts, actAs, configuration, instruments, kubeletOf, refused, type Setting } from './attempts.ts'
import { core, type Stage } from './stage.ts'

const base64 = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
/** A token that says what a pod's says, with another signature. */
function forgedTokens({ credentials, stateDir }: Stage): Record<string, string> {
  const [head = '', body = '', signature = ''] = (credentials.pod.token ?? '').split('.')
  const header = JSON.parse(Buffer.from(head, 'base64url').toString()) as { alg: string; kid: string }
  const publicKey = readFileSync(join(stateDir, 'pki/sa.pub'), 'utf8')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const byHmac = `${base64({ ...header, alg: 'HS256' })}.${body}`
  const changed = base64({ ...claims, sub: 'system:serviceaccount:kube-system:generic-garbage-collector' })
  return {
    'without a signature': `${base64({ ...header, alg: 'none' })}.${body}.`,
    'whose signature is cut off': `${head}.${body}.`,
    'with the public key as a secret': `${byHmac}.${createHmac('sha256', publicKey).update(byHmac).digest('base64url')}`,
    'of another cluster': `${head}.${body}.${sign('sha256', Buffer.from(`${head}.${body}`), other).toString('base64url')}`,
    'with other claims': `${head}.${changed}.${signature}`,
    'of nothing': 'x',
    'of an absent bootstrap token': 'fedcba.0123456789abcdef',
    'of a bootstrap token with another secret': 'abcdef.0123456789abcdee',
  }
}

export function anonymousAttempts(setting: Setting): Attempts {
  const { stage, everyObject } = setting
  const tokens = () => Object.entries(forgedTokens(stage))
  return {
    'read, create, change or delete any object, or a subresource of one': refused(everyObject),
    "read metrics, configuration, the API's documents or the list of its kinds": (t, client) =>
      refused(
        [
          '/metrics',
          '/flagz',
          '/statusz',
          '/openapi/v2',
          '/openapi/v3',
          '/openapi/v3/api/v1',
          '/api',
          '/api/v1',
          '/apis',
          '/apis/apps/v1',
          '/openid/v1/jwks',
          '/',
        ].map((path) => ({ path })),
      )(t, client),
    'use the journal, faults, snapshots or the clock': instruments,
    'get anything but a refusal from a kubelet': kubeletOf(setting, 'anonymous client'),
    'pass with a token of another cluster, with a broken one, or with an unsigned one': async (t) => {
      for (const [title, token] of tokens())
        t.equal(await stage.apiServer({ token }).status({ path: '/api' }), 401, `a token ${title}`)
      for (const [title, token] of tokens())
        t.equal(await stage.kubelet({ token }).status({ path: '/pods' }), 401, `a token ${title}, at the kubelet`)
    },
    'name itself in a header': refused(
      ['x-remote-user', 'x-forwarded-user', 'impersonate-user', 'x-client-cert', 'cookie'].flatMap((header) => [
        { path: `${core}/secrets`, headers: { [header]: 'admin', 'x-remote-group': 'system:masters' } },
        { path: '/metrics', headers: { [header]: 'admin', 'x-remote-group': 'system:masters' } },
      ]),
    ),
  }
}

export const attemptsWithoutRole = (setting: Setting): Attempts => ({
  'read, create, change or delete any object, or a subresource of one': refused(setting.everyObject),
  'act as another user': actAs(setting),
  'read metrics or configuration': configuration,
  'use the journal, faults, snapshots or the clock': instruments,
  'get anything but a refusal from a kubelet': kubeletOf(setting, 'user without a role'),
})
