/** Which pods may use an image that is there: by the policy, and by the secrets that it was pulled with. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ImageAccess } from '../../../kubelet/images/access/image-access.ts'
import { verificationOptions, verificationPolicy } from '../../../kubelet/images/access/verification-options.ts'
import type { Credentials } from '../../../kubelet/runtime/container-runtime.ts'
import { resolveOptions } from '../../../shared/config/resolve.ts'

const id = `sha256:${'a'.repeat(64)}`
const secret = (name: string, password: string, uid = name): Credentials => ({
  username: 'anna',
  password,
  secret: { namespace: 'ns', name, uid },
})
const policyOf = async (...args: string[]) =>
  verificationPolicy((await resolveOptions(verificationOptions, { args, env: {} })).values)

t.test('an image is for pods with the secrets that it was pulled with', async (t) => {
  const folder = join(t.testdir(), 'pulled')
  const access = new ImageAccess(folder, await policyOf())
  const mayUse = (image: string, ...credentials: Credentials[]) =>
    access.mayUse(image, { stored: { id, byKubelet: true } }, async () => credentials)
  t.notOk(await mayUse('reg/web:1', secret('a', 'x')), 'it is not known how it came')
  access.pulled('reg/web:1', id, secret('a', 'x'))
  t.ok(await mayUse('reg/web:1', secret('a', 'x')))
  t.ok(await mayUse('reg/web:other', secret('wrong', 'y'), secret('b', 'x')), 'another secret says the same')
  t.ok(await mayUse('reg/web:1', secret('a', 'new')), 'the secret has changed')
  t.ok(await mayUse('reg/web:1', secret('c', 'new')), 'what it says now counts')
  t.notOk(await mayUse('reg/web:1', secret('a', 'z', 'another')), 'a new secret of the name')
  t.notOk(await mayUse('reg/web:1', secret('wrong', 'y')))
  t.notOk(await mayUse('reg/web:1', { username: 'anna', password: 'y' }))
  t.notOk(await mayUse('reg/web:1'))
  t.notOk(await mayUse('reg/other:1', secret('a', 'new')), 'another repository has the same image')
  const [file = ''] = readdirSync(folder)
  t.equal(statSync(join(folder, file)).mode & 0o777, 0o600)
  t.notMatch(readFileSync(join(folder, file), 'utf8'), /"(?:x|new)"/, 'no password is written')
  const again = new ImageAccess(folder, await policyOf())
  t.ok(await again.mayUse('reg/web:1', { stored: { id, byKubelet: true } }, async () => [secret('a', 'new')]))

  access.pulled('reg/web:1', id, undefined)
  t.ok(await mayUse('reg/web:1'), 'no password was asked for')
  access.pulled('reg/web:1', id, secret('a', 'x'))
  t.ok(await mayUse('reg/web:1'))
  writeFileSync(join(folder, file), '{"reg/web":')
  t.notOk(await mayUse('reg/web:1'), 'a damaged record gives no access')
  access.forget(id)
  t.same(readdirSync(folder), [])
  for (let i = 0; i < 150; i++) access.pulled('reg/web:1', id, secret(`s${i}`, `p${i}`))
  t.ok(await mayUse('reg/web:1', secret('s149', 'p149')))
  t.notOk(await mayUse('reg/web:1', secret('s0', 'p0')), 'a record does not grow without end')
})

t.test('policies', async (t) => {
  const folder = t.testdir()
  const asked = async (image: string, byKubelet: boolean, ...args: string[]) => {
    const access = new ImageAccess(folder, await policyOf(...args))
    return !(await access.mayUse(image, { stored: { id, byKubelet } }, async () => []))
  }
  const policy = (name: string) => `--image-pull-credentials-verification-policy=${name}`
  t.same([await asked('a/b:1', true), await asked('a/b:1', false)], [true, false], 'the default: preloaded images')
  t.same([await asked('a/b:1', true, policy('NeverVerify'))], [false])
  t.same([await asked('a/b:1', false, policy('AlwaysVerify'))], [true])
  const list = [
    policy('NeverVerifyAllowlistedImages'),
    '--preloaded-images-verification-allowlist=reg.example:5000/web,reg.example/team/*',
  ]
  for (const [image, isAsked] of [
    ['reg.example:5000/web', false],
    ['reg.example:5000/web:1', false],
    ['reg.example:5000/web@sha256:0', false],
    ['reg.example:5000/webs:1', true],
    ['reg.example/team/a/b:1', false],
    ['reg.example/teams:1', true],
  ] as const)
    t.equal(await asked(image, true, ...list), isAsked, image)
  const none = new ImageAccess(folder, await policyOf(policy('AlwaysVerify')))
  t.ok(await none.mayUse('a/b:1', {}, async () => []), 'a program of this machine is for all')
  await t.rejects(
    policyOf('--preloaded-images-verification-allowlist=a'),
    /needs imagePullCredentialsVerificationPolicy/,
  )
  for (const pattern of ['a*', '/*', 'a/*/b', 'a:1', 'a@sha256:0'])
    await t.rejects(policyOf(`--preloaded-images-verification-allowlist=${pattern}`), /neither a name without a tag/)
})
